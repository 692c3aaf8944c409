// The one table of the conformance suite: what a subnet administrator answers to MCMemberRecord
// requests, statement by statement. Every administrator is held to the same expectations.
import { assignedMgid } from './cases/assigned-mgid.js';
import { attributes } from './cases/attributes.js';
import { creationComponents } from './cases/creation-components.js';
import { joinState } from './cases/join-state.js';
import { leaving, pinning } from './cases/leaving.js';
import { limits } from './cases/limits.js';
import { mgid } from './cases/mgid.js';
import { mismatch } from './cases/mismatch.js';
import { partition } from './cases/partition.js';
import { queries } from './cases/queries.js';
import type { ConformanceCase } from './step.js';

export const CASES: readonly ConformanceCase[] = [
  ...creationComponents,
  ...assignedMgid,
  ...mgid,
  ...attributes,
  ...limits,
  ...joinState,
  ...partition,
  ...mismatch,
  ...leaving,
  ...queries,
  ...pinning,
];
