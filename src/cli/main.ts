#!/usr/bin/env node
import { run } from './program.js';
import { ProcessTerminal } from './terminal.js';

// Warnings of Node are for those who write the program, not for those who read its output.
process.removeAllListeners('warning');

const terminal = new ProcessTerminal();
const code = await run(process.argv.slice(2), terminal);
await terminal.flush();
// Not by itself: a leave that was given up would hold the process.
process.exit(code);
