import { embeddedAdministrator } from './administrator.js';
import { describeConformance } from './conformance.js';
import { describeContract } from './contract-conformance.js';
import { embeddedJoiner } from './joiner.js';
import { describeProviderConformance } from './provider-conformance.js';

describeConformance('the embedded fabric', embeddedAdministrator);
describeProviderConformance('embeddedFabric()', embeddedJoiner);
describeContract('embedded', () => Promise.resolve({ env: process.env }));
