import { embeddedAdministrator } from './administrator.js';
import { describeConformance } from './conformance.js';

describeConformance('the embedded fabric', embeddedAdministrator);
