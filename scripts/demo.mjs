// npm run demo: sets up what is missing, then runs the main job on the embedded fabric.

import './build.mjs';

await import('../docs/examples/demo.mjs');
