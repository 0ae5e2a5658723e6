/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What the switch keeps for each network namespace: the administrator's rules, the limits, the
 * counters and the peers that a road did not reach. It dies with the namespace, or with the module.
 *
 * The marks (mark.c) ask ops_rules_choose(), the change of roads counts and charges, the opening of
 * roads asks the peers. netlink.c changes all of it; the last section says what it asks of the rest
 * of the switch.
 */
#ifndef OPS_RULES_H
#define OPS_RULES_H

#include <linux/in6.h>
#include <linux/jump_label.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <net/sock.h>

#include <krdma/offload-netlink.h>
#include <krdma/offload.h>

struct netlink_ext_ack;
struct ops_sock;

/* Rules (rules.c) *********************************************************** */

enum ops_direction {
	/* enters SYN_SENT: address and port are the peer's */
	OPS_CONNECT = KRDMA_OFFLOAD_CONNECT,
	/* enters LISTEN: they are the socket's */
	OPS_LISTEN = KRDMA_OFFLOAD_LISTEN,
};

/**
 * struct ops_choice - what a rule says of a socket
 * @rule: id; 0: no rule matched
 * @action: KRDMA_OFFLOAD_ACTION_*
 * @road: name, for KRDMA_OFFLOAD_ACTION_NAMED
 */
struct ops_choice {
	u32 rule;
	u8 action;
	char road[OFFLOAD_NAME_MAX];
};

/**
 * struct ops_match - which sockets
 * @direction: enum ops_direction
 * @family: AF_INET, AF_INET6, or AF_UNSPEC: all addresses
 * @prefix_len: bits of @address that count
 * @address: prefix; an IPv4 address is mapped into IPv6, @prefix_len is still IPv4's
 * @port_min: first port
 * @port_max: last port; 0: all ports
 * @has_uid: @uid counts
 * @uid: owner of the socket
 * @has_cgroup: the next four count
 * @cgroup: id in the v2 hierarchy of the cgroup, or of the one where @names begin
 * @cgroup_level: its depth
 * @names_num: of the cgroups below it that lead to the one that is meant
 * @names: those names, each with its zero; owned by this structure
 *
 * An id is kept in place of the cgroup, so that a rule does not keep a removed cgroup in memory.
 * Ids are not used again: a match by id alone ends with the cgroup. A match by names holds for
 * each cgroup of that path, which need not exist yet: a service has a new one after each start.
 */
struct ops_match {
	u8 direction;
	u8 family;
	u8 prefix_len;
	struct in6_addr address;
	u16 port_min;
	u16 port_max;
	bool has_uid;
	kuid_t uid;
	bool has_cgroup;
	u64 cgroup;
	int cgroup_level;
	int names_num;
	char *names;
};

/* is there a rule in any namespace? */
DECLARE_STATIC_KEY_FALSE(ops_rules_key);

bool ops_rules_find(const struct sock *sk, enum ops_direction direction,
		    struct ops_choice *choice);

/**
 * ops_rules_choose() - what do the rules say of a socket?
 * @sk: socket of IPv4 or IPv6 that enters SYN_SENT or LISTEN
 * @direction: which of the two
 * @choice: gets the rule; its @rule is 0 where none matched
 *
 * Return: true: mark the socket; false: leave it alone (no rule, or one that says TCP).
 * Context: any but hard interrupt, with the lock of @sk. RCU inside. It is a jump that is not taken
 * while no namespace has rules.
 */
static inline bool ops_rules_choose(const struct sock *sk, enum ops_direction direction,
				    struct ops_choice *choice)
{
	choice->rule = 0;
	if (!static_branch_unlikely(&ops_rules_key))
		return false;
	return ops_rules_find(sk, direction, choice);
}

/**
 * ops_rules_allow() - would a rule mark a socket that is about to connect or to listen?
 * @sk: socket of IPv4 or IPv6, with its lock
 * @direction: which of the two
 * @to: where it connects to; NULL: it listens
 *
 * Counts nothing: the rules are asked again when it does so. Context: any but hard interrupt.
 */
bool ops_rules_allow(const struct sock *sk, enum ops_direction direction,
		     const struct sockaddr *to);

/**
 * ops_match_socket() - does a match take this socket?
 * @match: which sockets
 * @sk: socket of IPv4 or IPv6, connected, connecting or listening
 * @direction: the side that it has
 *
 * For walks over sockets. Context: any but hard interrupt; with RCU.
 */
bool ops_match_socket(const struct ops_match *match, const struct sock *sk,
		      enum ops_direction direction);

/* Counters (stats.c) ******************************************************** */

/* what became of the sockets that a rule took; the names are in stats.c */
enum ops_counter {
	OPS_COUNT_CONNECT,		/* sockets marked by connect() */
	OPS_COUNT_LISTEN,		/* ... by listen() */
	OPS_COUNT_CHILD,		/* accepted by a marked listener */
	OPS_COUNT_ASKED,		/* marked because the program asked (TCP_ULP) */
	OPS_COUNT_RULE_TCP,		/* a rule says TCP */
	OPS_COUNT_NO_RULE,		/* the program asked, and no rule takes the socket */
	OPS_COUNT_STAMPS,		/* the program wants time stamps of packets */
	OPS_COUNT_LEFT_ALONE,		/* a rule matched, but another part has the socket */
	OPS_COUNT_PAIRED,		/* both ends found each other on this host */
	OPS_COUNT_UP,			/* ends whose road was opened */
	OPS_COUNT_CHANGED,		/* directions whose bytes change to the road */
	OPS_COUNT_NO_ROAD,		/* no road is registered that the rule allows */
	OPS_COUNT_NO_ROUTE,		/* the host has no route to ask a road about */
	OPS_COUNT_NOT_OFFERED,		/* a road does not reach the peer */
	OPS_COUNT_SLOWER,		/* a road reaches it, but is slower, and no rule names it */
	OPS_COUNT_PEER,			/* the negative cache knows the peer */
	OPS_COUNT_NO_MATCH,		/* the peer does not know the connection, or is no krdma */
	OPS_COUNT_REFUSED,		/* the peer refused the road */
	OPS_COUNT_TIMEOUT,		/* the road was not open in time */
	OPS_COUNT_ERROR,		/* another error of a road */
	OPS_COUNT_LIMIT,		/* a limit of the namespace or of the host */
	OPS_COUNT_MEMORY,		/* no memory, or not in the cgroup */
	OPS_COUNT_UNMARKED,		/* marks taken off: the socket is TCP's alone again */
	OPS_COUNT_BROKEN,		/* a road broke after the change: the connection ended */
	OPS_COUNT_RESET,		/* sent back or ended by "krdma offload reset" */
	OPS_COUNTERS,
};

void ops_count(struct net *net, enum ops_counter which);

/* Limits (limits.c) ********************************************************* */

u64 ops_limit(const struct net *net, enum krdma_offload_limit which);

/*
 * What roads use, in connections (KRDMA_OFFLOAD_LIMIT_CONNECTIONS) or bytes (..._MEMORY). It is
 * charged to the namespace and to the host.
 */
bool ops_charge(struct net *net, enum krdma_offload_limit which, u64 amount);
void ops_uncharge(struct net *net, enum krdma_offload_limit which, u64 amount);
/* Does the namespace, or the host, use three quarters of its memory? Then buffers do not grow. */
bool ops_memory_pressure(const struct net *net);

/* Peers that a road did not reach, for a while (peers.c) ******************** */

bool ops_peer_is_bad(struct net *net, const char *road, const struct sockaddr_storage *peer);
void ops_peer_bad(struct net *net, const char *road, const struct sockaddr_storage *peer);
void ops_peers_forget(struct net *net, const char *road, const struct sockaddr_storage *peer);

/* Life: before the first socket is marked, after the last one *************** */

int ops_rules_init(void);
void ops_rules_exit(void);

/* What netlink.c asks of the rest of the switch ***************************** */

/* a road, for "krdma offload roads" */
struct ops_road_view {
	char name[OFFLOAD_NAME_MAX];
	int protocol;
	u32 caps;
	int priority;
	u32 conns;
};

/* a marked socket, for "krdma offload sockets" */
struct ops_sock_view {
	u8 family;			/* AF_INET or AF_INET6; mapped addresses are AF_INET */
	u8 tcp_state;			/* TCP_ESTABLISHED ... */
	u8 state;			/* enum krdma_offload_state */
	u8 why;				/* enum ops_counter: why TCP; OPS_COUNTERS: none */
	struct in6_addr local;		/* IPv4 addresses are mapped */
	struct in6_addr remote;
	u16 local_port;			/* host order */
	u16 remote_port;
	u32 rule;			/* id; 0: the program asked */
	kuid_t uid;
	u64 inode;			/* of the program's descriptor; 0: none */
	char road[OFFLOAD_NAME_MAX];	/* "": none yet */
	u64 sent;			/* bytes by the road */
	u64 received;
	u64 tcp_sent;			/* bytes by TCP, before the change */
	u64 tcp_received;
};

/*
 * The roads in order of priority: @show is called for each, from number *@from on, until it
 * returns other than 0; *@from is then the number of that one. Context: may sleep.
 */
int ops_roads_walk(unsigned long *from,
		   int (*show)(const struct ops_road_view *view, void *arg), void *arg);

/*
 * The marked sockets of a namespace (NULL: of all), from position *@from on (0: the first; opaque),
 * until @show returns other than 0; *@from is then that one's. @show must not sleep; it may call
 * ops_sock_view() and ops_sock_info(). Return: 0 or what @show returned. Context: may sleep.
 */
int ops_socks_walk(struct net *net, unsigned long *from,
		   int (*show)(struct ops_sock *os, void *arg), void *arg);
void ops_sock_view(struct ops_sock *os, struct ops_sock_view *view);
/* nested attributes of the road (offload_road.info), or nothing */
int ops_sock_info(struct ops_sock *os, struct sk_buff *skb);

/*
 * "krdma offload reset": the marked sockets of a namespace that @match takes (NULL: all) go back to
 * TCP where no byte has changed over yet; where one has, the connection ends with a reset if @end
 * says so, else it stays. Return: how many were changed. Context: may sleep.
 */
int ops_socks_reset(struct net *net, const struct ops_match *match, bool end);

#endif
