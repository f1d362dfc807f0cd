// The API replicas and their addresses, from the membership.
import type { Membership } from "../../kube/lease/membership.ts";
import type { Member } from "../../kube/lease/member.ts";
import type { PeerDirectory } from "../../api/peers/peer-group.ts";
import type { Peer } from "../../api/peers/peer-protocol.ts";
import { findLiveMembers } from "../leases/replica-membership.ts";
import type { PeerServer } from "./peer-server.ts";

const PEER_ANNOTATIONS = { url: "cupola.dev/peer-url", authority: "cupola.dev/peer-authority" } as const;

/** Address of this replica for the others, as annotations of its Lease. */
export function toPeerAnnotations({ url, authority }: PeerServer): Record<string, string> {
  return { [PEER_ANNOTATIONS.url]: url, ...(authority && { [PEER_ANNOTATIONS.authority]: authority }) };
}

/** The API replicas among the members. */
export function createPeerDirectory(membership: Membership, { url, authority }: PeerServer): PeerDirectory {
  const listOthers = (members: readonly Member[]): Peer[] =>
    members.filter(({ identity }) => identity !== membership.identity).flatMap(toPeers);
  return {
    self: { identity: membership.identity, url, ...(authority && { authority }) },
    findPeers() {
      const members = findLiveMembers(membership);
      return members && listOthers(members);
    },
    fetchPeers: async () => listOthers(await membership.listConsistent()),
    onChange: (listener) => membership.onChange(listener),
    isMember: () => membership.isMember(),
    async removePeer({ identity }) {
      const member = (await membership.listConsistent()).find((one) => one.identity === identity);
      if (member) await membership.evict(member);
    },
  };
}

function toPeers({ identity, annotations }: Member): Peer[] {
  const [url, authority] = [annotations[PEER_ANNOTATIONS.url], annotations[PEER_ANNOTATIONS.authority]];
  return url ? [{ identity, url, ...(authority && { authority }) }] : [];
}
