import { opensmAdministrator } from '../conformance/administrator.js';
import { describeConformance } from '../conformance/conformance.js';

describeConformance('OpenSM', opensmAdministrator);
