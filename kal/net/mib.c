// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * MIB: the TCP/IP objects of RFC 1213, 4022, 4113 and 4293 for a network namespace. The host
 * counts them. An RNIC whose connections the host does not see has its own counters, which are
 * added on each read. The connections of the software RNIC are connections of the host and are
 * therefore counted once.
 *
 * Objects that Linux does not count are left out (for example ipRoutingDiscards). The udp
 * group covers both versions of IP, as RFC 4113 defines it. docs/architecture.md lists the
 * other missing objects.
 */
#include <linux/export.h>
#include <linux/icmp.h>
#include <linux/inetdevice.h>
#include <net/ip.h>
#include <net/ipv6.h>
#include <net/snmp.h>
#include <krdma/compat_net.h>

#include "internal.h"

/* source of the host's part of an object */
enum source {
	SRC_FORWARDING,
	SRC_TTL,
	SRC_REASM,
	SRC_FORWARDING6,
	SRC_HOP_LIMIT,
	SRC_IP4,
	SRC_IP6,
	SRC_ICMP4,
	SRC_ICMP4_IN,	/* this and the next: by message type */
	SRC_ICMP4_OUT,
	SRC_ICMP6,
	SRC_TCP,
	SRC_UDP,
};

/* no RNIC counts this object */
#define NONE	RI_MIB_OBJECTS

/**
 * struct object - an object of the MIB
 * @name: name in its RFC
 * @source: source of the host's part
 * @field: field of the source
 * @rnic: enum ri_mib_object, or NONE
 */
struct object {
	const char *name;
	enum source source;
	u16 field;
	u16 rnic;
};

#define HOST(name, source, field)	{ name, SRC_##source, field, NONE }
#define RNIC_IP(name, version, field, object) \
	{ name, SRC_IP##version, IPSTATS_MIB_##field, RI_MIB_IP##version + RI_MIB_IP_##object }
#define RNIC_TCP(name, object, field) \
	{ name, SRC_TCP, TCP_MIB_##field, RI_MIB_TCP_##object }

static const struct object net_mib_objects[] = {
	/* RFC 1213: IPv4 */
	HOST("ipForwarding", FORWARDING, 0),
	HOST("ipDefaultTTL", TTL, 0),
	RNIC_IP("ipInReceives", 4, INPKTS, IN_RECEIVES),
	RNIC_IP("ipInHdrErrors", 4, INHDRERRORS, IN_HDR_ERRORS),
	RNIC_IP("ipInAddrErrors", 4, INADDRERRORS, IN_ADDR_ERRORS),
	HOST("ipForwDatagrams", IP4, IPSTATS_MIB_OUTFORWDATAGRAMS),
	HOST("ipInUnknownProtos", IP4, IPSTATS_MIB_INUNKNOWNPROTOS),
	RNIC_IP("ipInDiscards", 4, INDISCARDS, IN_DISCARDS),
	RNIC_IP("ipInDelivers", 4, INDELIVERS, IN_DELIVERS),
	RNIC_IP("ipOutRequests", 4, OUTREQUESTS, OUT_REQUESTS),
	RNIC_IP("ipOutDiscards", 4, OUTDISCARDS, OUT_DISCARDS),
	HOST("ipOutNoRoutes", IP4, IPSTATS_MIB_OUTNOROUTES),
	HOST("ipReasmTimeout", REASM, 0),
	RNIC_IP("ipReasmReqds", 4, REASMREQDS, REASM_REQDS),
	RNIC_IP("ipReasmOKs", 4, REASMOKS, REASM_OKS),
	RNIC_IP("ipReasmFails", 4, REASMFAILS, REASM_FAILS),
	RNIC_IP("ipFragOKs", 4, FRAGOKS, FRAG_OKS),
	RNIC_IP("ipFragFails", 4, FRAGFAILS, FRAG_FAILS),
	RNIC_IP("ipFragCreates", 4, FRAGCREATES, FRAG_CREATES),
	HOST("icmpInMsgs", ICMP4, ICMP_MIB_INMSGS),
	HOST("icmpInErrors", ICMP4, ICMP_MIB_INERRORS),
	HOST("icmpOutMsgs", ICMP4, ICMP_MIB_OUTMSGS),
	HOST("icmpOutErrors", ICMP4, ICMP_MIB_OUTERRORS),
	HOST("icmpInDestUnreachs", ICMP4_IN, ICMP_DEST_UNREACH),
	HOST("icmpOutDestUnreachs", ICMP4_OUT, ICMP_DEST_UNREACH),
	HOST("icmpInTimeExcds", ICMP4_IN, ICMP_TIME_EXCEEDED),
	HOST("icmpOutTimeExcds", ICMP4_OUT, ICMP_TIME_EXCEEDED),
	HOST("icmpInParmProbs", ICMP4_IN, ICMP_PARAMETERPROB),
	HOST("icmpOutParmProbs", ICMP4_OUT, ICMP_PARAMETERPROB),
	HOST("icmpInSrcQuenchs", ICMP4_IN, ICMP_SOURCE_QUENCH),
	HOST("icmpOutSrcQuenchs", ICMP4_OUT, ICMP_SOURCE_QUENCH),
	HOST("icmpInRedirects", ICMP4_IN, ICMP_REDIRECT),
	HOST("icmpOutRedirects", ICMP4_OUT, ICMP_REDIRECT),
	HOST("icmpInEchos", ICMP4_IN, ICMP_ECHO),
	HOST("icmpOutEchos", ICMP4_OUT, ICMP_ECHO),
	HOST("icmpInEchoReps", ICMP4_IN, ICMP_ECHOREPLY),
	HOST("icmpOutEchoReps", ICMP4_OUT, ICMP_ECHOREPLY),
	HOST("icmpInTimestamps", ICMP4_IN, ICMP_TIMESTAMP),
	HOST("icmpOutTimestamps", ICMP4_OUT, ICMP_TIMESTAMP),
	HOST("icmpInTimestampReps", ICMP4_IN, ICMP_TIMESTAMPREPLY),
	HOST("icmpOutTimestampReps", ICMP4_OUT, ICMP_TIMESTAMPREPLY),
	HOST("icmpInAddrMasks", ICMP4_IN, ICMP_ADDRESS),
	HOST("icmpOutAddrMasks", ICMP4_OUT, ICMP_ADDRESS),
	HOST("icmpInAddrMaskReps", ICMP4_IN, ICMP_ADDRESSREPLY),
	HOST("icmpOutAddrMaskReps", ICMP4_OUT, ICMP_ADDRESSREPLY),
	/* RFC 4022 */
	HOST("tcpRtoAlgorithm", TCP, TCP_MIB_RTOALGORITHM),
	HOST("tcpRtoMin", TCP, TCP_MIB_RTOMIN),
	HOST("tcpRtoMax", TCP, TCP_MIB_RTOMAX),
	HOST("tcpMaxConn", TCP, TCP_MIB_MAXCONN),
	RNIC_TCP("tcpActiveOpens", ACTIVE_OPENS, ACTIVEOPENS),
	RNIC_TCP("tcpPassiveOpens", PASSIVE_OPENS, PASSIVEOPENS),
	RNIC_TCP("tcpAttemptFails", ATTEMPT_FAILS, ATTEMPTFAILS),
	RNIC_TCP("tcpEstabResets", ESTAB_RESETS, ESTABRESETS),
	RNIC_TCP("tcpCurrEstab", CURR_ESTAB, CURRESTAB),
	RNIC_TCP("tcpInSegs", IN_SEGS, INSEGS),
	RNIC_TCP("tcpOutSegs", OUT_SEGS, OUTSEGS),
	RNIC_TCP("tcpRetransSegs", RETRANS_SEGS, RETRANSSEGS),
	RNIC_TCP("tcpInErrs", IN_ERRS, INERRS),
	RNIC_TCP("tcpOutRsts", OUT_RSTS, OUTRSTS),
	RNIC_TCP("tcpHCInSegs", IN_SEGS, INSEGS),
	RNIC_TCP("tcpHCOutSegs", OUT_SEGS, OUTSEGS),
	/* RFC 4113 */
	HOST("udpInDatagrams", UDP, UDP_MIB_INDATAGRAMS),
	HOST("udpNoPorts", UDP, UDP_MIB_NOPORTS),
	HOST("udpInErrors", UDP, UDP_MIB_INERRORS),
	HOST("udpOutDatagrams", UDP, UDP_MIB_OUTDATAGRAMS),
	HOST("udpHCInDatagrams", UDP, UDP_MIB_INDATAGRAMS),
	HOST("udpHCOutDatagrams", UDP, UDP_MIB_OUTDATAGRAMS),
	/* RFC 4293 */
	HOST("ipv6IpForwarding", FORWARDING6, 0),
	HOST("ipv6IpDefaultHopLimit", HOP_LIMIT, 0),
	RNIC_IP("ipSystemStatsInReceives.ipv4", 4, INPKTS, IN_RECEIVES),
	RNIC_IP("ipSystemStatsInReceives.ipv6", 6, INPKTS, IN_RECEIVES),
	RNIC_IP("ipSystemStatsInOctets.ipv4", 4, INOCTETS, IN_OCTETS),
	RNIC_IP("ipSystemStatsInOctets.ipv6", 6, INOCTETS, IN_OCTETS),
	RNIC_IP("ipSystemStatsInHdrErrors.ipv4", 4, INHDRERRORS, IN_HDR_ERRORS),
	RNIC_IP("ipSystemStatsInHdrErrors.ipv6", 6, INHDRERRORS, IN_HDR_ERRORS),
	HOST("ipSystemStatsInNoRoutes.ipv4", IP4, IPSTATS_MIB_INNOROUTES),
	HOST("ipSystemStatsInNoRoutes.ipv6", IP6, IPSTATS_MIB_INNOROUTES),
	RNIC_IP("ipSystemStatsInAddrErrors.ipv4", 4, INADDRERRORS, IN_ADDR_ERRORS),
	RNIC_IP("ipSystemStatsInAddrErrors.ipv6", 6, INADDRERRORS, IN_ADDR_ERRORS),
	HOST("ipSystemStatsInUnknownProtos.ipv4", IP4, IPSTATS_MIB_INUNKNOWNPROTOS),
	HOST("ipSystemStatsInUnknownProtos.ipv6", IP6, IPSTATS_MIB_INUNKNOWNPROTOS),
	HOST("ipSystemStatsInTruncatedPkts.ipv4", IP4, IPSTATS_MIB_INTRUNCATEDPKTS),
	HOST("ipSystemStatsInTruncatedPkts.ipv6", IP6, IPSTATS_MIB_INTRUNCATEDPKTS),
	RNIC_IP("ipSystemStatsReasmReqds.ipv4", 4, REASMREQDS, REASM_REQDS),
	RNIC_IP("ipSystemStatsReasmReqds.ipv6", 6, REASMREQDS, REASM_REQDS),
	RNIC_IP("ipSystemStatsReasmOKs.ipv4", 4, REASMOKS, REASM_OKS),
	RNIC_IP("ipSystemStatsReasmOKs.ipv6", 6, REASMOKS, REASM_OKS),
	RNIC_IP("ipSystemStatsReasmFails.ipv4", 4, REASMFAILS, REASM_FAILS),
	RNIC_IP("ipSystemStatsReasmFails.ipv6", 6, REASMFAILS, REASM_FAILS),
	RNIC_IP("ipSystemStatsInDiscards.ipv4", 4, INDISCARDS, IN_DISCARDS),
	RNIC_IP("ipSystemStatsInDiscards.ipv6", 6, INDISCARDS, IN_DISCARDS),
	RNIC_IP("ipSystemStatsInDelivers.ipv4", 4, INDELIVERS, IN_DELIVERS),
	RNIC_IP("ipSystemStatsInDelivers.ipv6", 6, INDELIVERS, IN_DELIVERS),
	RNIC_IP("ipSystemStatsOutRequests.ipv4", 4, OUTREQUESTS, OUT_REQUESTS),
	RNIC_IP("ipSystemStatsOutRequests.ipv6", 6, OUTREQUESTS, OUT_REQUESTS),
	HOST("ipSystemStatsOutNoRoutes.ipv4", IP4, IPSTATS_MIB_OUTNOROUTES),
	HOST("ipSystemStatsOutNoRoutes.ipv6", IP6, IPSTATS_MIB_OUTNOROUTES),
	HOST("ipSystemStatsOutForwDatagrams.ipv4", IP4, IPSTATS_MIB_OUTFORWDATAGRAMS),
	HOST("ipSystemStatsOutForwDatagrams.ipv6", IP6, IPSTATS_MIB_OUTFORWDATAGRAMS),
	RNIC_IP("ipSystemStatsOutDiscards.ipv4", 4, OUTDISCARDS, OUT_DISCARDS),
	RNIC_IP("ipSystemStatsOutDiscards.ipv6", 6, OUTDISCARDS, OUT_DISCARDS),
	RNIC_IP("ipSystemStatsOutFragOKs.ipv4", 4, FRAGOKS, FRAG_OKS),
	RNIC_IP("ipSystemStatsOutFragOKs.ipv6", 6, FRAGOKS, FRAG_OKS),
	RNIC_IP("ipSystemStatsOutFragFails.ipv4", 4, FRAGFAILS, FRAG_FAILS),
	RNIC_IP("ipSystemStatsOutFragFails.ipv6", 6, FRAGFAILS, FRAG_FAILS),
	RNIC_IP("ipSystemStatsOutFragCreates.ipv4", 4, FRAGCREATES, FRAG_CREATES),
	RNIC_IP("ipSystemStatsOutFragCreates.ipv6", 6, FRAGCREATES, FRAG_CREATES),
	RNIC_IP("ipSystemStatsOutTransmits.ipv4", 4, OUTPKTS, OUT_TRANSMITS),
	RNIC_IP("ipSystemStatsOutTransmits.ipv6", 6, OUTPKTS, OUT_TRANSMITS),
	RNIC_IP("ipSystemStatsOutOctets.ipv4", 4, OUTOCTETS, OUT_OCTETS),
	RNIC_IP("ipSystemStatsOutOctets.ipv6", 6, OUTOCTETS, OUT_OCTETS),
	HOST("ipSystemStatsInMcastPkts.ipv4", IP4, IPSTATS_MIB_INMCASTPKTS),
	HOST("ipSystemStatsInMcastPkts.ipv6", IP6, IPSTATS_MIB_INMCASTPKTS),
	HOST("ipSystemStatsInMcastOctets.ipv4", IP4, IPSTATS_MIB_INMCASTOCTETS),
	HOST("ipSystemStatsInMcastOctets.ipv6", IP6, IPSTATS_MIB_INMCASTOCTETS),
	HOST("ipSystemStatsOutMcastPkts.ipv4", IP4, IPSTATS_MIB_OUTMCASTPKTS),
	HOST("ipSystemStatsOutMcastPkts.ipv6", IP6, IPSTATS_MIB_OUTMCASTPKTS),
	HOST("ipSystemStatsOutMcastOctets.ipv4", IP4, IPSTATS_MIB_OUTMCASTOCTETS),
	HOST("ipSystemStatsOutMcastOctets.ipv6", IP6, IPSTATS_MIB_OUTMCASTOCTETS),
	HOST("ipSystemStatsInBcastPkts.ipv4", IP4, IPSTATS_MIB_INBCASTPKTS),
	HOST("ipSystemStatsInBcastPkts.ipv6", IP6, IPSTATS_MIB_INBCASTPKTS),
	HOST("ipSystemStatsOutBcastPkts.ipv4", IP4, IPSTATS_MIB_OUTBCASTPKTS),
	HOST("ipSystemStatsOutBcastPkts.ipv6", IP6, IPSTATS_MIB_OUTBCASTPKTS),
	HOST("icmpStatsInMsgs.ipv4", ICMP4, ICMP_MIB_INMSGS),
	HOST("icmpStatsInMsgs.ipv6", ICMP6, ICMP6_MIB_INMSGS),
	HOST("icmpStatsInErrors.ipv4", ICMP4, ICMP_MIB_INERRORS),
	HOST("icmpStatsInErrors.ipv6", ICMP6, ICMP6_MIB_INERRORS),
	HOST("icmpStatsOutMsgs.ipv4", ICMP4, ICMP_MIB_OUTMSGS),
	HOST("icmpStatsOutMsgs.ipv6", ICMP6, ICMP6_MIB_OUTMSGS),
	HOST("icmpStatsOutErrors.ipv4", ICMP4, ICMP_MIB_OUTERRORS),
	HOST("icmpStatsOutErrors.ipv6", ICMP6, ICMP6_MIB_OUTERRORS),
};

const unsigned int kal_mib_count = ARRAY_SIZE(net_mib_objects);
EXPORT_SYMBOL_GPL(kal_mib_count);

const char *kal_mib_name(unsigned int object)
{
	return object < ARRAY_SIZE(net_mib_objects) ? net_mib_objects[object].name : NULL;
}
EXPORT_SYMBOL_GPL(kal_mib_name);

/* The host ***************************************************************** */

/* A host without IPv6 has no counters of IPv6. */
static u64 net_mib_fold(void __percpu *mib, unsigned int field)
{
	unsigned long sum = 0;
	int cpu;

	if (!mib)
		return 0;
	/* snmp_fold_field() is not for modules since 7.1 */
	for_each_possible_cpu(cpu)
		sum += snmp_get_cpu_field(mib, cpu, field);
	return sum;
}

static u64 net_mib_fold64(struct ipstats_mib __percpu *mib, unsigned int field)
{
	u64 sum = 0;
	int cpu;

	if (!mib)
		return 0;
	for_each_possible_cpu(cpu)
		sum += snmp_get_cpu_field64(mib, cpu, field, offsetof(struct ipstats_mib, syncp));
	return sum;
}

static u64 net_mib_icmp_by_type(struct net *net, unsigned int index)
{
	return atomic_long_read(&net->mib.icmpmsg_statistics->mibs[index]);
}

static u64 net_mib_icmp6_by_type(struct net *net, unsigned int index)
{
	const struct icmpv6msg_mib *mib = net->mib.icmpv6msg_statistics;

	return mib ? atomic_long_read(&mib->mibs[index]) : 0;
}

static u64 net_mib_reasm_timeout(struct net *net)
{
	const struct fqdir *fqdir = net->ipv4.fqdir;

	return fqdir ? READ_ONCE(fqdir->timeout) / HZ : 0;
}

static u64 net_mib_forwarding6(struct net *net)
{
	const struct ipv6_devconf *all = net->ipv6.devconf_all;

	return all && READ_ONCE(all->forwarding) ? 1 : 2;
}

static u64 net_mib_hop_limit(struct net *net)
{
	const struct ipv6_devconf *all = net->ipv6.devconf_all;

	return all ? READ_ONCE(all->hop_limit) : 0;
}

static u64 net_mib_host_value(struct net *net, enum source source, unsigned int field)
{
	switch (source) {
	case SRC_FORWARDING:
		return IPV4_DEVCONF_ALL_RO(net, FORWARDING) ? 1 : 2;
	case SRC_TTL:
		return READ_ONCE(net->ipv4.sysctl_ip_default_ttl);
	case SRC_REASM:
		return net_mib_reasm_timeout(net);
	case SRC_FORWARDING6:
		return net_mib_forwarding6(net);
	case SRC_HOP_LIMIT:
		return net_mib_hop_limit(net);
	case SRC_IP4:
		return net_mib_fold64(net->mib.ip_statistics, field);
	case SRC_IP6:
		return net_mib_fold64(net->mib.ipv6_statistics, field);
	case SRC_ICMP4:
		return net_mib_fold(net->mib.icmp_statistics, field);
	case SRC_ICMP4_IN:
		return net_mib_icmp_by_type(net, field);
	case SRC_ICMP4_OUT:
		return net_mib_icmp_by_type(net, field | 0x100);
	case SRC_ICMP6:
		return net_mib_fold(net->mib.icmpv6_statistics, field);
	case SRC_TCP:
		return net_mib_fold(net->mib.tcp_statistics, field);
	case SRC_UDP:
		return net_mib_fold(net->mib.udp_statistics, field) +
		       net_mib_fold(net->mib.udp_stats_in6, field);
	}
	return 0;
}

/* Both ********************************************************************* */

/**
 * kal_mib_add() - add the counters of an RNIC
 * @sum: RI_MIB_OBJECTS values
 * @counted: RI_MIB_OBJECTS values to add
 * @gauges: also add gauges, which hold a current number
 */
void kal_mib_add(u64 *sum, const u64 *counted, bool gauges)
{
	unsigned int i;

	for (i = 0; i < RI_MIB_OBJECTS; i++)
		if (gauges || i != RI_MIB_TCP_CURR_ESTAB)
			sum[i] += counted[i];
}

void kal_mib_read(struct net *net, u64 *values)
{
	u64 rnics[RI_MIB_OBJECTS] = {};
	unsigned int i;

	kal_net_rnics_mib(kal_net(net), rnics);
	for (i = 0; i < ARRAY_SIZE(net_mib_objects); i++) {
		const struct object *o = &net_mib_objects[i];

		values[i] = net_mib_host_value(net, o->source, o->field);
		if (o->rnic != NONE)
			values[i] += rnics[o->rnic];
	}
}
EXPORT_SYMBOL_GPL(kal_mib_read);

/* Messages of ICMP by type ************************************************* */

#define TYPES	256
/* offset of the sent messages in the host's arrays */
#define SENT	TYPES

static void net_mib_message_read(struct net *net, struct kal_mib_message *message)
{
	u64 (*by_type)(struct net *net, unsigned int index);

	by_type = message->version == 4 ? net_mib_icmp_by_type : net_mib_icmp6_by_type;
	message->in = by_type(net, message->type);
	message->out = by_type(net, message->type + SENT);
}

bool kal_mib_message(struct net *net, unsigned int *next, struct kal_mib_message *message)
{
	BUILD_BUG_ON(KAL_MIB_MESSAGES != 2 * TYPES);
	while (*next < KAL_MIB_MESSAGES) {
		message->version = *next < TYPES ? 4 : 6;
		message->type = *next % TYPES;
		++*next;
		net_mib_message_read(net, message);
		if (message->in || message->out)
			return true;
	}
	return false;
}
EXPORT_SYMBOL_GPL(kal_mib_message);
