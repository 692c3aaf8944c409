export { canonicalGid, formatGid, parseGid } from './address/gid.js';
export { parseIpGroup } from './address/ip-group.js';
export type { IpGroup } from './address/ip-group.js';
export { ipoibMgid } from './address/ipoib.js';
export type { IpoibOptions } from './address/ipoib.js';
export { canonicalMgid } from './address/mgid.js';
export type {
  LifecycleEvent,
  MulticastErrorEvent,
  MulticastEvent,
  MulticastJoinedEvent,
  MulticastResetEvent,
} from './contract/event.js';
export type {
  ResolvedServiceRequest,
  ServiceErrorEvent,
  ServiceEvent,
  ServiceJoinedEvent,
  ServiceResetEvent,
} from './contract/service-event.js';
export type {
  JoinCallback,
  JoinCompletion,
  MulticastHandle,
  MulticastProvider,
  PortInfo,
  PortWish,
  RdmacmOptions,
  SaPortOptions,
} from './contract/provider.js';
export type { AddressHandle, GlobalRoute } from './contract/address-handle.js';
export type {
  GroupEvent,
  GroupNews,
  GroupNewsCallback,
  GroupNewsCompletion,
  GroupsLostEvent,
  GroupsSubscribedEvent,
  QueryCallback,
  QueryCompletion,
  ResolvedQuery,
  ResolvedService,
  SaRecordKind,
  SaRecords,
  ServiceCallback,
  ServiceCompletion,
} from './contract/query.js';
export type { Arg, JoinRequest, JoinRequestWith, ResolvedJoinRequest } from './contract/request.js';
export type { SaClient } from './contract/sa-client.js';
export type { PortStats, ProviderStats } from './contract/stats.js';
export { DIAGNOSTIC_CHANNELS } from './errors/diagnostics.js';
export type { DiagnosticChannel, DiagnosticMessage } from './errors/diagnostics.js';
export { errnoName, errnoNumber } from './errors/errno.js';
export { MulticastError } from './errors/multicast-error.js';
export type { MulticastErrorDetails } from './errors/multicast-error.js';
export { RESET_REASONS } from './errors/reset-reason.js';
export type { ResetReason } from './errors/reset-reason.js';
export { saStatusName } from './errors/sa-status.js';
export { joinMulticast$ } from './observable/join-multicast.js';
export { groupEvents$ } from './observable/group-events.js';
export { queryGroups$, queryMembers$, queryPath$, queryServices$ } from './observable/query.js';
export type { QueryOptions } from './observable/query.js';
export type { PlaceOptions } from './observable/place.js';
export { joinMulticast } from './observable/membership.js';
export type { JoinMulticastOptions, Membership } from './observable/membership.js';
export { registerService$ } from './observable/register-service.js';
export type { ServiceRegistration } from './observable/register-service.js';
export { registerSaClient } from './observable/sa-client.js';
export type { SaClientOptions } from './observable/sa-client.js';
export { joinMulticastAll$ } from './operators/join-multicast-all.js';
export type { JoinAllOptions, JoinRequests } from './operators/join-multicast-all.js';
export { rejoinOnReset } from './operators/rejoin-on-reset.js';
export type { RejoinPolicy } from './operators/rejoin-on-reset.js';
export { shareMembership } from './operators/share-membership.js';
export type { ShareMembershipOptions } from './operators/share-membership.js';
export { trackMembership } from './operators/track-membership.js';
export type {
  FailedState,
  JoiningState,
  MembershipState,
  MemberState,
  OutageState,
  TrackMembershipOptions,
} from './operators/track-membership.js';
export { whileJoined } from './operators/while-joined.js';
export { addressHandleFromMcMember } from './codec/address-handle.js';
export type { AddressHandlePort } from './codec/address-handle.js';
export { packMcMemberRecord, unpackMcMemberRecord } from './codec/mc-member-record.js';
export { packPathRecord, unpackPathRecord } from './codec/path-record.js';
export { packServiceRecord, unpackServiceRecord } from './codec/service-record.js';
export { rocePathRecord } from './records/canonical-path.js';
export type { RocePathRecordInit } from './records/canonical-path.js';
export { componentMaskFields, componentMaskOf } from './records/component-mask.js';
export type { McMemberField } from './records/component-mask.js';
export type {
  JoinState,
  McMemberRecord,
  McMemberRecordInit,
  Selector,
} from './records/mc-member-record.js';
export { pathComponentMask } from './records/path-record.js';
export type {
  InfiniBandPathRecord,
  PathRecord,
  PathRecordInit,
  RocePathRecord,
} from './records/path-record.js';
export { serviceComponentMask } from './records/service-record.js';
export type { ServiceRecord, ServiceRecordInit } from './records/service-record.js';
export { MTU_BYTES, RATES_GBPS } from './records/units.js';
export { capabilities, listDevices } from './providers/capabilities.js';
export type { Capabilities, ProviderCapability } from './providers/capabilities.js';
export { embeddedFabric } from './providers/embedded-fabric.js';
export type {
  EmbeddedClient,
  EmbeddedFabric,
  EmbeddedFabricOptions,
  FabricCounters,
  FabricMember,
  SaMethod,
} from './providers/embedded-fabric.js';
export { rdmacm } from './providers/rdmacm.js';
export type { RdmacmProvider } from './providers/rdmacm.js';
export { umad } from './providers/umad.js';
export type { UmadProvider } from './providers/umad.js';
