// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * libFuzzer's target for the MPA start-up of an endpoint (kal/cm/startup.c with kal/cm/mpa.c).
 * An input consists of a setup and the peer's data, in pieces. The endpoint table, the socket
 * and the provider are simulated. The invariants are:
 *
 *  - No byte behind the peer's frame is taken from the socket, because it belongs to the
 *    provider.
 *  - A frame that RFC 5044 7.1 and RFC 6581 6 allow reaches the consumer, with its private
 *    data unchanged. No other frame does. Bytes behind a Request that has no Reply yet end
 *    the connection.
 *  - The stream is given to the provider at most once, and not after a failure.
 *  - Only whole frames are sent, one in each attempt, and at most one Terminate behind a Reply.
 */
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/unaligned.h>
#include <net/net_namespace.h>

#include "core/counters.h"
#include "cm/endpoint.h"
#include "must.h"

void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void free(void *p);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

#define SETUP_LEN	12
#define READS_LIMIT	16	/* of the RNIC */

/* bits of the first byte of an input */
#define SETUP_ACTIVE	BIT(0)
#define SETUP_REFUSE	BIT(1)	/* the consumer rejects */
#define SETUP_NO_ROOM	BIT(2)	/* TCP takes no data */
#define SETUP_FALLBACK	BIT(3)
#define SETUP_MARKERS	BIT(4)	/* asked for */
#define SETUP_MARKS	BIT(5)	/* the RNIC can insert them */
#define SETUP_CRC	BIT(6)
#define SETUP_RESET	BIT(7)	/* the peer ends the stream when all its data has come */

/* bit of the seventh byte */
#define SETUP_ADOPT	BIT(3)	/* active: on a socket of the consumer */

static struct {
	const u8 *setup;
	const u8 *octets;	/* of the peer, on this stream */
	u32 size;		/* of them */
	u32 arrived;
	u32 taken;
	bool reset;
	u32 frames_sent;
	u32 terminates_sent;
	u32 handed_over;
	u32 reports;
	int reply_status;
	bool fallback;
	bool busy;		/* the QP was busy once */
	bool again;
	struct ri_mpa_params mpa;
} v;

/* time stands still */
unsigned long volatile jiffies = INITIAL_JIFFIES;

unsigned long __msecs_to_jiffies(const unsigned int m)
{
	return m;
}

static struct kal_ep ep, parent;
static struct kal_llp llp;
static struct sock consumer_sk;
static struct socket consumer_socket = { .sk = &consumer_sk };
static struct ri_rnic rnic;
static u64 counters[KAL_CNT_NUM];
static struct net *net;

/* The rules, worked out from the bytes ************************************ */

static bool is_request(void)
{
	return !(v.setup[0] & SETUP_ACTIVE);
}

static u32 enhanced_len(void)
{
	return v.octets[17] == 2 && v.octets[16] & 0x10 ? 4 : 0;
}

/* RFC 5044 7.1.1, RFC 6581 6: is the frame valid? */
static bool header_ok(void)
{
	const char *key = is_request() ? "MPA ID Req Frame" : "MPA ID Rep Frame";
	u16 length;

	if (v.size < 20)
		return false;
	length = get_unaligned_be16(v.octets + 18);
	return !memcmp(v.octets, key, 16) && (v.octets[17] == 1 || v.octets[17] == 2) &&
	       length <= 512 && length >= enhanced_len();
}

static u32 whole_frame(void)
{
	return header_ok() ? 20 + get_unaligned_be16(v.octets + 18) : 20;
}

static void check_private_data(const struct kal_ep_event *event)
{
	const u32 skip = 20 + enhanced_len();

	must(v.taken == whole_frame());
	must(event->private_data_len == v.taken - skip);
	must(!memcmp(event->private_data, v.octets + skip, event->private_data_len));
}

/* Stream ******************************************************************* */

int kal_llp_recv(struct kal_llp *l, void *buf, size_t len)
{
	u32 n = min_t(u32, len, v.arrived - v.taken);

	must(len && v.taken + len <= whole_frame());
	if (!n)
		return v.reset && v.arrived == v.size ? -ECONNRESET : -EAGAIN;
	memcpy(buf, v.octets + v.taken, n);
	v.taken += n;
	return n;
}

int kal_llp_send(struct kal_llp *l, const void *buf, size_t len)
{
	const u8 *p = buf;

	if (v.setup[0] & SETUP_NO_ROOM)
		return -EPIPE;
	/* only an empty frame is this short, and it does not begin with a marker's zeros */
	if (len == KAL_MPA_TERM_MAX && !get_unaligned_be32(p)) {
		p += KAL_MPA_MARKER_LEN;
		len -= KAL_MPA_MARKER_LEN;
	}
	if (len == KAL_MPA_TERM_LEN && get_unaligned_be16(p) == len - 6) {
		/* layer 2, type 0: RFC 6581 9 */
		must(!is_request() && p[20] == 0x20 && p[21] >= 5 && p[21] <= 7);
		must(v.taken == whole_frame() && !v.handed_over);
		v.terminates_sent++;
		return 0;
	}
	must(len >= 20 && len == 20 + get_unaligned_be16(p + 18));
	must(!memcmp(p, is_request() ? "MPA ID Rep Frame" : "MPA ID Req Frame", 16));
	must(p[17] == 1 || p[17] == 2);
	/* never before the Request was read, and never after the stream was handed over */
	must(!is_request() || (header_ok() && v.taken == whole_frame()));
	must(!v.handed_over);
	/* a Reply has the form of its Request (RFC 6581 10) */
	if (is_request())
		must(p[17] == v.octets[17] && !(p[16] & 0x10) == !enhanced_len());
	v.frames_sent++;
	return 0;
}

int kal_rnic_vrf(const struct ri_rnic *r, const struct sockaddr_storage *local)
{
	return 0;
}

struct kal_llp *kal_llp_open(struct net *n, int family, int vrf)
{
	memset(&llp, 0, sizeof(llp));
	return &llp;
}

struct kal_llp *kal_llp_adopt(struct socket *sock, void (*data_ready)(struct sock *sk),
			      struct mem_cgroup *memcg, gfp_t gfp)
{
	must(sock == &consumer_socket && !memcg);
	memset(&llp, 0, sizeof(llp));
	return &llp;
}

int kal_llp_bind(struct kal_llp *l, const struct sockaddr_storage *local,
		 const struct kal_conn_param *param)
{
	return 0;
}

int kal_llp_connect(struct kal_llp *l, const struct sockaddr_storage *remote)
{
	return 0;
}

int kal_llp_renew(struct kal_llp *l)
{
	return 0;
}

void kal_sock_set_tos(struct socket *sock, u8 tos)
{
}

void sock_set_priority(struct sock *sk, u32 priority)
{
}

void sock_set_mark(struct sock *sk, u32 mark)
{
}

int kal_llp_names(struct kal_llp *l)
{
	return 0;
}

void kal_llp_hook(struct kal_llp *l, void (*notify)(void *owner), void *owner)
{
}

void kal_llp_reset(struct kal_llp *l)
{
}

unsigned int kal_llp_poll(struct kal_llp *l)
{
	return KAL_LLP_UP | (v.reset && v.arrived == v.size ? KAL_LLP_DOWN : 0);
}

int kal_llp_error(struct kal_llp *l)
{
	return -ECONNRESET;
}

int kal_llp_inq(struct kal_llp *l)
{
	return v.arrived - v.taken;
}

/* Endpoint ***************************************************************** */

void kal_ep_arm(struct kal_ep *e, const unsigned int *timeout_ms)
{
}

void kal_ep_notify(void *e)
{
}

void kal_ep_try_again(struct kal_ep *e)
{
	v.again = true;
}

void kal_pending_ready(struct kal_ep *e)
{
}

void kal_pending_remove(struct kal_ep *e)
{
}

int kal_ep_step(struct kal_ep *e, enum kal_ep_input input)
{
	must(input == KAL_EP_IN_FALLBACK);
	must(v.setup[0] & SETUP_FALLBACK && !v.fallback);
	/* a consumer's stream cannot be opened a second time */
	must(!(v.setup[6] & SETUP_ADOPT));
	v.fallback = true;
	return 0;
}

int kal_ep_report(struct kal_ep *e, struct kal_ep_event *event)
{
	v.reports++;
	switch (event->type) {
	case KAL_EP_CONN_REQUEST:
		must(e == &parent && event->child == &ep && header_ok());
		must(v.arrived == v.taken);
		must(event->ird <= READS_LIMIT && event->ord <= READS_LIMIT);
		check_private_data(event);
		return v.setup[0] & SETUP_REFUSE && v.setup[1] & 0x80 ? -ECONNABORTED : 0;
	case KAL_EP_CONN_REPLY:
		must(v.reports == 1);
		v.reply_status = event->status;
		must(!event->status == (v.handed_over == 1));
		/* only a Reply has private data, also a Reply that rejects */
		if (!event->status || event->private_data)
			check_private_data(event);
		return 0;
	case KAL_EP_ESTABLISHED:
		must(v.handed_over == 1);
		return 0;
	default:
		must(!"an event of another time");
		return 0;
	}
}

int kal_ep_attach_qp(struct kal_ep *e, struct ri_qp *qp)
{
	return 0;
}

/* once, and before the consumer gets the failure */
void kal_ep_free_qp(struct kal_ep *e)
{
	must(!e->qp_free && !v.handed_over);
	e->qp_free = true;
}

int kal_ep_hand_over(struct kal_ep *e, const struct ri_mpa_params *mpa, bool nowait)
{
	const u8 flags = v.octets[16];

	/* calls of consumers may wait, workers may not */
	must(nowait == !is_request());
	if (nowait && v.setup[6] & 4 && !v.busy) {
		v.busy = true;
		return -EAGAIN;
	}
	must(!v.handed_over++ && header_ok() && v.taken == whole_frame());
	must(mpa->initiator == !is_request());
	must(mpa->crc == (flags & 0x40 || v.setup[0] & SETUP_CRC));
	must(mpa->tx_markers == !!(flags & 0x80));
	must(!mpa->tx_markers || v.setup[0] & SETUP_MARKS);
	must(!mpa->rx_markers || v.setup[0] & SETUP_MARKERS);
	must(mpa->ird <= READS_LIMIT && mpa->ord <= READS_LIMIT);
	must(is_request() || !(flags & 0x20));
	v.mpa = *mpa;
	return 0;
}

struct net *kal_rnic_net_get(const struct ri_rnic *r)
{
	return get_net(net);
}

/* What is the kernel's ***************************************************** */

struct kmem_cache *kmalloc_caches[NR_KMALLOC_TYPES][KMALLOC_SHIFT_HIGH + 1];
unsigned int kal_connect_timeout_ms, kal_mpa_reply_timeout_ms, kal_accept_timeout_ms;
unsigned int kal_mpa_revision, kal_mpa_rtr;
bool kal_mpa_markers, kal_mpa_fallback;
static bool mpa_crc;

bool kal_crc_wanted(const struct sockaddr_storage *peer)
{
	return mpa_crc;
}

void *__kmalloc_cache_noprof(struct kmem_cache *s, gfp_t flags, size_t size)
{
	return calloc(1, size);
}

void kfree(const void *p)
{
	free((void *)p);
}

void __put_net(struct net *n)
{
}

void refcount_warn_saturate(refcount_t *r, enum refcount_saturation_type t)
{
	must(!"reference count");
}

u32 ri_crc32c(u32 crc, const void *data, size_t len)
{
	const u8 *p = data;
	int i;

	while (len--) {
		crc ^= *p++;
		for (i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

/* A start-up *************************************************************** */

static void begin(const u8 *setup)
{
	memset(&v, 0, sizeof(v));
	memset(&ep, 0, sizeof(ep));
	memset(&parent, 0, sizeof(parent));
	memset(counters, 0, sizeof(counters));
	if (!net) {
		net = calloc(1, sizeof(*net));
		refcount_set(&net->ns.count, 1 << 20);
	}
	refcount_set(&net->ns.count, 1 << 20);
	v.setup = setup;
	mpa_crc = setup[0] & SETUP_CRC;
	kal_mpa_markers = setup[0] & SETUP_MARKERS;
	kal_mpa_fallback = setup[0] & SETUP_FALLBACK;
	kal_mpa_revision = setup[1] & 3;
	kal_mpa_rtr = setup[1] >> 2 & 15;
	rnic.base_counters = counters;
	rnic.attr.caps = setup[0] & SETUP_MARKS ? RI_CAP_MARKERS : 0;
	rnic.attr.limits.max_qp_rd_atom = READS_LIMIT;
	rnic.attr.limits.max_qp_init_rd_atom = READS_LIMIT;
	ep.rnic = &rnic;
	parent.state = KAL_EP_LISTENING;
}

static struct kal_conn_param param_of(const u8 *setup, u8 *private_data)
{
	memset(private_data, 0xd5, KAL_MPA_PD_MAX);
	return (struct kal_conn_param){
		.private_data = private_data,
		.private_data_len = setup[2],
		.ird = setup[3],
		.ord = setup[4],
	};
}

/* Add bytes of the peer; @read is called after each piece. */
static int feed(int (*read)(struct kal_ep *ep))
{
	u32 piece = v.setup[5] ?: v.size;
	int ret = KAL_EP_STAY;

	while (ret == KAL_EP_STAY && !v.fallback && v.arrived < v.size) {
		v.arrived += min(piece, v.size - v.arrived);
		piece = piece * 7 % 61 + 1;
		ret = read(&ep);
		must(ret <= KAL_EP_STAY);
		if (v.again) {
			must(ret == KAL_EP_STAY && v.busy);
			v.again = false;
			ret = read(&ep);
		}
	}
	return ret;
}

static void end(void)
{
	kfree(ep.startup);
	ep.startup = NULL;
}

static void passive(const u8 *data, u32 size)
{
	u8 private_data[KAL_MPA_PD_MAX];
	struct kal_conn_param param = param_of(v.setup, private_data);
	struct kal_ep_open_arg open = { .param = &param };
	struct kal_ep_reject_arg reject = { private_data, v.setup[2] };
	u32 rest;
	int ret;

	v.octets = data;
	v.size = size;
	v.reset = v.setup[0] & SETUP_RESET;
	ep.llp = &llp;
	ep.parent = &parent;
	ep.startup = kal_startup_alloc(&rnic, &llp.ri.remote, GFP_KERNEL);
	ret = feed(kal_startup_read_request);
	if (!ret)
		ret = kal_startup_deliver(&ep);
	if (ret) {
		/* a complete and valid Request must not fail by itself */
		must(ret == KAL_EP_STAY || !header_ok() || v.arrived > whole_frame() ||
		     v.octets[16] & 0x80 || v.reports == 1);
		must(v.frames_sent <= (header_ok() ? 1 : 0) && !v.handed_over);
		must(ret != KAL_EP_STAY || !header_ok() || v.taken < whole_frame());
		return;
	}
	must(v.reports == 1);
	rest = v.size - v.arrived;
	if (rest && v.setup[6] & 1) {
		/* bytes before the decision */
		v.arrived = v.size;
		must(kal_startup_early_data(&ep) == -EPROTO);
		must(counters[KAL_CNT_MPA_EARLY_DATA] == 1);
	}
	if (v.setup[0] & SETUP_REFUSE) {
		ep.arg = &reject;
		ret = v.setup[6] & 2 ? kal_startup_reject(&ep) : kal_startup_refuse(&ep);
		must(!v.handed_over && v.frames_sent <= 1);
		return;
	}
	ep.arg = &open;
	ret = kal_startup_accept(&ep);
	must(ret <= 0 && !ret == (v.handed_over == 1));
	must(!ret || v.setup[0] & (SETUP_NO_ROOM | SETUP_RESET) || v.arrived > v.taken);
	must(ret || v.frames_sent == 1);
}

/* A Reply, and a second attempt after another revision or the end of the stream. */
static void active(const u8 *data, u32 size)
{
	u8 private_data[KAL_MPA_PD_MAX];
	struct kal_conn_param param = param_of(v.setup, private_data);
	struct sockaddr_storage to = { .ss_family = AF_INET }, from = {};
	struct kal_ep_open_arg open = { .local = &from, .remote = &to, .param = &param };
	u32 half = min_t(u32, get_unaligned_be16(v.setup + 7), size);
	int ret, tries;

	v.octets = data;
	v.size = half;
	if (v.setup[6] & SETUP_ADOPT)
		open.sock = &consumer_socket;
	ep.arg = &open;
	ret = kal_startup_connect(&ep);
	for (tries = 0; !ret && tries < 2; tries++) {
		v.fallback = false;
		ret = kal_startup_send_request(&ep);
		must(ret || v.frames_sent == tries + 1);
		if (ret)
			break;
		ret = feed(kal_startup_read_reply);
		if (ret == KAL_EP_STAY && !v.fallback)
			ret = kal_startup_reply_lost(&ep);
		must(ret != KAL_EP_STAY || v.fallback);
		if (!v.fallback || tries)
			break;
		/* another stream, with the remaining bytes */
		must(!v.handed_over && !v.reports);
		v.octets += v.size;
		v.size = size - half;
		v.arrived = 0;
		v.taken = 0;
		ret = kal_startup_fallback(&ep);
	}
	must(!v.fallback || tries < 2);
	if (ret) {
		ep.error = ret;
		must(ret < 0 && !v.handed_over);
		kal_startup_report_failure(&ep);
	}
	must(v.reports == 1 && v.handed_over == !ret);
	must(v.terminates_sent <= 1 && !(v.terminates_sent && !ret));
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u8 *octets;

	if (size < SETUP_LEN)
		return 0;
	begin(data);
	/* of the exact size, so that AddressSanitizer finds an access beyond */
	octets = malloc(size - SETUP_LEN + 1);
	memcpy(octets, data + SETUP_LEN, size - SETUP_LEN);
	if (is_request())
		passive(octets, size - SETUP_LEN);
	else
		active(octets, size - SETUP_LEN);
	end();
	free(octets);
	return 0;
}
