/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Inside of the offload protocol switch. See ops/README.md for the whole.
 *
 * Who owns what: registry.c the protocols, decide.c the decision table (pure), create.c the life of
 * an ops_sock and its legs, option.c the socket options, bind.c, listen.c, accept.c, connect.c and
 * poll.c the calls of the same names, handoff.c the graft, policy.c the rules, peers.c the
 * negative cache, stats.c the counters, netlink.c the control by genetlink, redirect.c kretprobe.
 *
 * Locks, outermost first:
 *
 *	ops_sock.mutex		the state of an ops_sock and its legs; held over calls of the legs'
 *				operations that do not wait (O_NONBLOCK). Nobody waits for the net
 *				with it.
 *	lock_sock() of a leg	taken by the leg's operations
 *	wait queue of a leg	the switch gets the leg's events there; any context, a
 *				class of its own for lockdep, because the user's wait queue is
 *				woken with it
 *	ops_sock.queue_lock	the accept queue; interrupts off
 */
#ifndef OPS_H
#define OPS_H

#include <linux/completion.h>
#include <linux/ipv6.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <net/inet_sock.h>

#include <krdma/offload.h>

/* Registry (registry.c) ***************************************************** */

struct ops_proto;

/**
 * struct ops_handed - operations of sockets that were handed off
 * @ops: copy of @base with the switch as owner, and release, accept and setsockopt of handoff.c
 * @base: of the protocol, or of what has its place since (TLS)
 * @proto: protocol of the sockets
 * @node: in handoff.c's list of such copies that are not in a struct ops_proto
 */
struct ops_handed {
	struct proto_ops ops;
	const struct proto_ops *base;
	struct ops_proto *proto;
	struct list_head node;
};

/**
 * struct ops_proto - a protocol of the switch; TCP is one, always there
 * @sw: what the protocol registered; NULL: TCP
 * @refs: legs and calls that use it; unregistration waits for them
 * @node: in the list of protocols, by priority; RCU
 * @gone: takes no new legs
 * @handed: operations of sockets that were handed to it, IPv4 and IPv6
 * @leg_ops: operations of its legs, IPv4 and IPv6: a copy of the protocol's without owner, so that
 *	sockets which are not established do not pin the module
 * @unpinned: sockets handed off while the module was on its way out; they have no reference on it
 * @released: the last reference is gone
 * @index: of the protocol's counters
 */
struct ops_proto {
	const struct offload_protosw *sw;
	refcount_t refs;
	struct list_head node;
	bool gone;
	struct ops_handed handed[2];
	struct proto_ops leg_ops[2];
	atomic_t unpinned;
	struct completion released;
	u32 index;
};

extern struct ops_proto ops_tcp;

int ops_registry_init(void);
void ops_registry_exit(void);
/* Protocols are asked to leave, and no socket begins to use one; @on false: back to normal. */
void ops_registry_shutdown(bool on);
/* With a reference. @protocol: 0: none; NULL: no such protocol. */
struct ops_proto *ops_proto_get(int protocol);
struct ops_proto *ops_proto_by_name(const char *name);
void ops_proto_put(struct ops_proto *proto);
/* All that take sockets of @family, with references, in order of priority. Return: their number. */
u32 ops_protos_get(int family, bool kern, struct ops_proto *protos[OFFLOAD_PROTOCOLS_MAX]);

/* The decision table (decide.c) ********************************************* */

/* what socket() asks for */
enum ops_wants {
	OPS_WANTS_WILDCARD,	/* protocols 0, 6 and IPPROTO_OFFLOAD */
	OPS_WANTS_PROTOCOL,	/* that of an offload protocol which is registered */
	OPS_WANTS_UNKNOWN,
};

enum ops_call {
	OPS_CALL_CREATE,
	OPS_CALL_BIND,
	OPS_CALL_LISTEN,
	OPS_CALL_CONNECT,
};

/* what the call comes to */
enum ops_verdict {
	OPS_GO_ON,		/* all that were asked have done it, or enough of them */
	OPS_DROP_LEG,		/* go on without the offload protocol that failed */
	OPS_NATIVE,		/* hand off to TCP */
	OPS_FAIL,		/* the error is the caller's */
};

/**
 * ops_decide() - seed 003 5.1.6 to 5.1.9 as a table
 * @call: call
 * @wants: what the socket was made for
 * @stream: it is a stream socket
 * @native: there is a TCP socket
 * @failed: 0, or the errno of the leg that failed
 * @failed_native: the leg is TCP
 */
enum ops_verdict ops_decide(enum ops_call call, enum ops_wants wants, bool stream, bool native,
			    int failed, bool failed_native);

/* Sockets (create.c) ******************************************************** */

enum ops_state {
	OPS_NEW,
	OPS_BOUND,
	OPS_LISTENING,
	OPS_CONNECTING,
	OPS_FAILED,		/* a connect failed; connect may be called again */
	OPS_HANDED_OFF,		/* to another protocol; only late callers come here */
	OPS_CLOSED,
};

/**
 * struct ops_leg - the socket of one protocol
 * @proto: protocol, with a reference
 * @sock: socket, or NULL: handed off or let go of
 * @osk: ops_sock
 * @event: entry in the wait queue of @sock, while it listens or connects; see poll.c
 * @watched: @event is there; with the mutex
 * @listening: it is a listener; changes with the mutex and the queue_lock
 * @established: seen with a connection; there is no way back to TCP
 * @tokens: connections in the accept queue; queue_lock; see listen.c
 */
struct ops_leg {
	struct ops_proto *proto;
	struct socket *sock;
	struct ops_sock *osk;
	wait_queue_entry_t event;
	bool watched;
	bool listening;
	bool established;
	u32 tokens;
};

/**
 * struct ops_sock - a socket of the switch
 * @inet: the sock; sk_prot is &ops_prot; sk_err is that of a connect that failed
 * @mutex: see above
 * @state: enum ops_state; changes under @mutex, read without
 * @wants: what socket() asked for
 * @family: AF_INET or AF_INET6 of the legs
 * @kern: a socket of the kernel
 * @num: legs; leg 0 is TCP's, if there is one
 * @legs: by priority; a leg that was dropped has no @sock
 * @queue_lock: protects @queue, @queue_head, @queue_num
 * @queue: numbers of legs with a connection to accept, in order of arrival: a hint
 * @queue_size: of @queue
 * @backlog: of listen()
 * @listener: in the list of listeners, see listen.c
 * @asked: round of ops_listeners_retry() that this listener has had
 * @before: state that a connect or listen that ends goes back to: OPS_NEW or OPS_BOUND
 * @attempt: leg that connects; -1: none
 * @offloaded: OPS_HANDED_OFF to an offload protocol that made the connection
 * @budget: ends an attempt of an offload protocol that takes too long
 * @next: continues with the next leg, in process context; has a reference while it is queued, as
 *	@budget has
 * @ready: of a listener of the kernel: calls sk_data_ready(); has a reference while it is queued
 * @deadline: end of the budget, jiffies
 * @peer: address of connect()
 * @peer_len: its length
 * @target: the same after the cgroup's BPF programs: where the offload protocols connect to
 *
 * @inet6: of AF_INET6; where inet6_create() expects it
 * @by_family: made as AF_INET_OFFLOAD, not by AF_INET's or AF_INET6's create
 * @all: in create.c's list of all ops_socks
 * @options: struct ops_option, what setsockopt() set, in this order; with the mutex
 * @options_num: their number
 * @handed: operations of the user's socket after the hand-off
 *
 * Initialized by ops_calls_sock_init(). What create.c does not know is zero.
 */
struct ops_sock {
	struct inet_sock inet;
	struct mutex mutex;
	enum ops_state state;
	enum ops_wants wants;
	int family;
	bool kern;
	u32 num;
	struct ops_leg legs[OFFLOAD_PROTOCOLS_MAX + 1];
	spinlock_t queue_lock;
	u8 *queue;
	u32 queue_head;
	u32 queue_num;
	u32 queue_size;
	int backlog;
	struct list_head listener;
	u32 asked;
	enum ops_state before;
	int attempt;
	bool offloaded;
	struct delayed_work budget;
	struct delayed_work next;
	struct work_struct ready;
	unsigned long deadline;
	struct sockaddr_storage peer;
	int peer_len;
	struct sockaddr_storage target;
	struct ipv6_pinfo inet6;
	bool by_family;
	struct list_head all;
	struct list_head options;
	unsigned int options_num;
	const struct proto_ops *handed;
};

extern struct proto ops_prot;
extern const struct proto_ops ops_socket_ops;

static inline struct ops_sock *ops_sk(const struct sock *sk)
{
	return (struct ops_sock *)sk;
}

/* TCP's leg, or NULL */
static inline struct ops_leg *ops_native(struct ops_sock *osk)
{
	return osk->num && osk->legs[0].sock && !osk->legs[0].proto->sw ? &osk->legs[0] : NULL;
}

/**
 * ops_enter() - begin a call
 * @sock: user's socket
 *
 * Return: the ops_sock with a reference on its sock (ops_leave()); NULL: the socket was handed off
 * in the meantime, and sock->ops are the new protocol's: call those. Context: any.
 */
struct ops_sock *ops_enter(struct socket *sock);
void ops_leave(struct ops_sock *osk);

int ops_create_init(void);
void ops_create_exit(void);
/*
 * Legs of a wildcard socket for protocols that came after it, or whose leg was dropped, bound as
 * the others if there was a bind(). With the mutex.
 */
void ops_legs_refill(struct ops_sock *osk);
/* The user has closed the socket: no call is running. */
void ops_sock_end(struct ops_sock *osk);
/* Let go of a leg: its socket is released. With the mutex, or by the last user. */
void ops_leg_drop(struct ops_leg *leg);
/* All ops_socks let go of a protocol. Context: may sleep. */
void ops_socks_let_go(struct ops_proto *proto);
/* Does the current task make a leg? Redirection leaves such sockets alone. */
bool ops_creating(void);
/* create() of AF_INET_OFFLOAD */
int ops_family_create(struct net *net, struct socket *sock, int protocol, int kern);
/* Number of AF_INET_OFFLOAD */
extern int ops_family;

/* Calls ********************************************************************* */

int ops_bind(struct socket *sock, struct sockaddr *address, int len);
int ops_listen(struct socket *sock, int backlog);
int ops_accept(struct socket *sock, struct socket *newsock, struct proto_accept_arg *arg);
int ops_connect(struct socket *sock, struct sockaddr *address, int len, int flags);
__poll_t ops_poll(struct file *file, struct socket *sock, struct poll_table_struct *wait);
int ops_getname(struct socket *sock, struct sockaddr *address, int peer);
int ops_shutdown(struct socket *sock, int how);
int ops_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg);
int ops_sendmsg(struct socket *sock, struct msghdr *msg, size_t len);
int ops_recvmsg(struct socket *sock, struct msghdr *msg, size_t len, int flags);
int ops_setsockopt(struct socket *sock, int level, int name, sockptr_t value, unsigned int len);
int ops_getsockopt(struct socket *sock, int level, int name, char __user *value, int __user *len);
/*
 * The address that a program means, as one of the legs' family: AF_INET_OFFLOAD takes IPv4
 * addresses in several shapes. Return: its length, or an errno.
 */
int ops_address(const struct ops_sock *osk, const struct sockaddr *address, int len,
		struct sockaddr_storage *to);
/* What getsockopt() of SOL_SOCKET reads without asking us: as the leg has it. With the mutex. */
void ops_options_mirror(struct ops_sock *osk);
void ops_options_free(struct ops_sock *osk);
/* Give @to what was set on the socket before it had this leg. */
int ops_options_replay(struct ops_sock *osk, struct socket *to);
/* The leg that speaks for all: TCP's, or the first that is there; NULL: none. With the mutex. */
struct ops_leg *ops_leg_first(struct ops_sock *osk);
/* Its sock, or that of @osk: where options of SOL_SOCKET are. With the mutex. */
struct sock *ops_leg_sk(struct ops_sock *osk);
/* The fields of a new ops_sock that the calls use. */
void ops_calls_sock_init(struct ops_sock *osk);
/* Begin to get events of a leg, and end it (ops_leg_drop() begins with this). With the mutex. */
void ops_leg_watch(struct ops_leg *leg, wait_queue_func_t event);
void ops_leg_unwatch(struct ops_leg *leg);
/*
 * The end of a listener or of a connect: nothing of its legs' events is seen any more. With the
 * mutex; work items may still run once, with a reference of their own, and find nothing to do.
 */
void ops_listen_end(struct ops_sock *osk);
void ops_connect_end(struct ops_sock *osk);
/* Between listen.c and accept.c, connect.c and the rest; see there */
void ops_listen_forget(struct ops_leg *leg);
struct ops_leg *ops_listen_oldest(struct ops_sock *osk);
void ops_listen_ready_work(struct work_struct *work);
void ops_listen_settle(struct ops_sock *osk);
void ops_connect_kick(struct ops_sock *osk);
void ops_connect_give_up(struct ops_sock *osk, struct socket *sock);
int ops_connect_wait(struct ops_sock *osk, struct socket *sock, long *timeo);
extern struct workqueue_struct *ops_wq;
/* A protocol came or reaches more: listeners of the wildcard try again. Any context but hardirq. */
void ops_listeners_retry(void);
void ops_listeners_exit(void);
/* Work queue of connect.c and listen.c; exit when there are no sockets any more */
int ops_calls_init(void);
void ops_calls_exit(void);

/* Hand-off (handoff.c) ****************************************************** */

/**
 * ops_handoff() - make @sock a socket of the protocol of @leg
 * @osk: ops_sock of @sock; with the mutex
 * @sock: user's socket
 * @leg: the winner; its socket is empty afterwards and gone, as are all other legs
 *
 * Waiters, epoll entries and fasync stay, because they are at sock->wq. sock->state becomes that of
 * the leg's socket, SOCK_FASYNC of the old sock goes to the new one. connect.c hands off to TCP
 * before TCP connects. Nobody waits on sock->wq with the mutex. Context: may sleep.
 */
void ops_handoff(struct ops_sock *osk, struct socket *sock, struct ops_leg *leg);

/**
 * ops_handoff_new() - the same for a socket of accept() that is not published yet
 * @proto: protocol of its sock
 * @newsock: has the sock of the connection and the operations of its protocol
 */
void ops_handoff_new(struct ops_proto *proto, struct socket *newsock, int family);
/* The operations that sockets of @proto get, from those of its legs. */
void ops_handoff_prepare(struct ops_proto *proto, int family, const struct proto_ops *base);
/* Late callers: does sock->ops what the hand-off has not done yet. */
void ops_handoff_finish(struct socket *sock);
int ops_handoff_release(struct socket *sock);
void ops_handoff_exit(void);

/* Policy (policy.c, peers.c, stats.c, netlink.c) **************************** */

/* why TCP was taken, or not; counted for each namespace */
enum ops_reason {
	OPS_REASON_OFFLOADED,		/* an offload protocol made the connection */
	OPS_REASON_ACCEPTED,		/* ... accepted it */
	OPS_REASON_NATIVE_ACCEPTED,	/* TCP accepted it */
	OPS_REASON_NO_PROTOCOL,		/* none is registered */
	OPS_REASON_RULE,		/* a rule says TCP */
	OPS_REASON_NO_ROUTE,		/* the host has none */
	OPS_REASON_NOT_OFFERED,		/* offers() said no */
	OPS_REASON_PEER,		/* the negative cache knows the peer */
	OPS_REASON_REFUSED,		/* the peer refused the offload connection */
	OPS_REASON_TIMEOUT,		/* the budget was over */
	OPS_REASON_ERROR,		/* another error of the offload protocol */
	OPS_REASON_BIND,		/* the port is in use in the protocol */
	OPS_REASON_LISTEN,		/* listen failed in the protocol */
	OPS_REASON_CREATE,		/* its socket could not be made */
	OPS_REASON_FAST_OPEN,		/* data in the SYN was asked for */
	OPS_REASONS,
};

extern const char *const ops_reason_names[OPS_REASONS];

void ops_count(struct net *net, enum ops_reason reason);

/**
 * ops_policy() - which protocols may a connection or a listener use?
 * @sk: for the namespace, the uid, the cgroup
 * @address: peer of a connect, or local address of a listener
 * @listen: for a listener
 * @proto: one of them
 *
 * Return: true: the rules allow it. Context: process; RCU inside.
 */
bool ops_policy(const struct sock *sk, const struct sockaddr_storage *address, bool listen,
		const struct ops_proto *proto);

/* The negative cache: peers that an offload protocol does not reach, for a while. */
bool ops_peer_is_bad(struct net *net, const struct ops_proto *proto,
		     const struct sockaddr_storage *peer);
void ops_peer_bad(struct net *net, const struct ops_proto *proto,
		  const struct sockaddr_storage *peer);
void ops_peers_forget(struct net *net, const struct ops_proto *proto,
		      const struct sockaddr_storage *peer);

/* May socket() of AF_INET be redirected for this task? Rules of uid and cgroup; for redirect.c. */
bool ops_policy_redirects(void);

int ops_policy_init(void);	/* with peers, counters, netlink */
void ops_policy_exit(void);

/* Parameters (/sys/module/krdma_ops/parameters), see README.md */
extern unsigned int ops_connect_budget_ms;
extern unsigned int ops_bad_peer_s;

int ops_redirect_init(void);	/* kretprobe on update_socket_protocol, parameter "redirect" */
void ops_redirect_exit(void);

#endif
