// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Checks of the conformance test: attributes, protection domains, completion queues, regions and
 * windows. No connection is made.
 */
#include <linux/cleanup.h>
#include <linux/delay.h>
#include <linux/nsproxy.h>
#include <linux/sched.h>

#include "kconf.h"

/* Attributes **************************************************************** */

static void kconf_limits(void)
{
	const struct ib_device_attr *limits = &kconf.rnic->attr.limits;

	KCONF_EXPECT(limits->max_qp > 0);
	KCONF_EXPECT(limits->max_qp_wr > 0);
	KCONF_EXPECT(limits->max_send_sge > 0);
	KCONF_EXPECT(limits->max_recv_sge > 0);
	KCONF_EXPECT(limits->max_sge_rd > 0);
	KCONF_EXPECT(limits->max_cq > 0);
	KCONF_EXPECT(limits->max_cqe > 0);
	KCONF_EXPECT(limits->max_mr > 0);
	KCONF_EXPECT(limits->max_mr_size > 0);
	KCONF_EXPECT(limits->max_pd > 0);
	KCONF_EXPECT(limits->max_qp_rd_atom > 0);
	KCONF_EXPECT(limits->max_qp_init_rd_atom > 0);
	KCONF_EXPECT(limits->max_fast_reg_page_list_len > 0);
	KCONF_EXPECT(limits->page_size_cap & PAGE_SIZE);
	if (kconf.rnic->attr.caps & RI_CAP_SRQ)
		KCONF_EXPECT(limits->max_srq > 0 && limits->max_srq_wr > 0 &&
			     limits->max_srq_sge > 0);
}

static void kconf_attributes(void)
{
	const struct ri_rnic_attr *attr = &kconf.rnic->attr;

	KCONF_EXPECT(attr->transport <= RI_TRANSPORT_ROCE);
	KCONF_EXPECT(attr->num_ceh > 0);
	KCONF_EXPECT(kal_rnic_in_net(kconf.rnic, current->nsproxy->net_ns));
	if (attr->caps & RI_CAP_LLP_OFFLOAD)
		KCONF_EXPECT(attr->max_connect_data > 0 && attr->max_accept_data > 0 &&
			     attr->max_reject_data > 0 &&
			     attr->max_connect_data <= RI_PRIVATE_DATA_MAX &&
			     attr->max_accept_data <= RI_PRIVATE_DATA_MAX &&
			     attr->max_reject_data <= RI_PRIVATE_DATA_MAX);
	else
		KCONF_EXPECT(attr->netdev && attr->transport == RI_TRANSPORT_IWARP);
}

static void kconf_port(void)
{
	const struct net *net = current->nsproxy->net_ns;
	struct ri_port_attr attr = {};

	KCONF_EXPECT(!kal_port_query(kconf.rnic, 1, net, &attr));
	KCONF_EXPECT(attr.state == IB_PORT_ACTIVE);
	if (kconf.rnic->attr.transport != RI_TRANSPORT_IWARP)
		KCONF_EXPECT(attr.path_mtu >= 256);
	if (kconf.rnic->attr.transport != RI_TRANSPORT_IB)
		KCONF_EXPECT(attr.ifindex > 0 && *attr.netdev);
	KCONF_EXPECT(kal_port_query(kconf.rnic, 0, net, &attr) == -EINVAL);
	KCONF_EXPECT(kal_port_query(kconf.rnic, max(kconf.rnic->attr.num_ports, 1U) + 1, net,
				    &attr) == -EINVAL);
}

/* Protection domains ******************************************************** */

static void kconf_pd(void)
{
	struct kconf_side *side = &kconf_bed.client[0];
	struct ri_pd *first, *second;

	first = kal_pd_alloc(kconf.rnic, NULL, NULL);
	second = kal_pd_alloc(kconf.rnic, NULL, NULL);
	if (!KCONF_EXPECT(!IS_ERR(first)) || !KCONF_EXPECT(!IS_ERR(second)))
		return;
	KCONF_EXPECT(!kal_pd_dealloc(first));
	KCONF_EXPECT(!kal_pd_dealloc(second));
	/* a PD and CQs with children */
	if (!kconf_side_open(side, NULL))
		return;
	KCONF_EXPECT(kal_pd_dealloc(side->pd) == -EBUSY);
	KCONF_EXPECT(kal_cq_destroy(side->scq) == -EBUSY);
	KCONF_EXPECT(kal_cq_destroy(side->rcq) == -EBUSY);
}

/* Completion queues ********************************************************* */

/* Create and destroy. Return: 0 or an errno. */
static int kconf_cq_try(u32 depth, u32 ceh)
{
	struct ri_cq *cq = kconf_cq_create(depth, ceh, NULL);

	if (IS_ERR(cq))
		return PTR_ERR(cq);
	KCONF_EXPECT(cq->depth >= depth);
	KCONF_EXPECT(kal_cq_poll(cq, 1, &(struct ib_wc){}) == 0);
	return kal_cq_destroy(cq);
}

static void kconf_cq_depths(void)
{
	const u32 max = kconf.rnic->attr.limits.max_cqe;
	int ret;
	u32 depth;

	for (depth = 1; depth <= min(max, 1U << 14); depth *= 4)
		KCONF_EXPECT(!kconf_cq_try(depth, 0));
	/* there may be no memory for the largest */
	ret = kconf_cq_try(max, 0);
	KCONF_EXPECT(!ret || ret == -ENOMEM);
	KCONF_EXPECT(kconf_cq_try(0, 0) == -EINVAL);
	KCONF_EXPECT(kconf_cq_try(max + 1, 0) == -EINVAL);
	KCONF_EXPECT(kconf_cq_try(U32_MAX, 0) == -EINVAL);
}

static void kconf_cq_handlers(void)
{
	const u32 num = kconf.rnic->attr.num_ceh;
	u32 ceh;

	for (ceh = 0; ceh < num; ceh++)
		KCONF_EXPECT(!kconf_cq_try(16, ceh));
	KCONF_EXPECT(kconf_cq_try(16, num) == -EINVAL);
	KCONF_EXPECT(kconf_cq_try(16, U32_MAX) == -EINVAL);
}

static void kconf_cq_resize(void)
{
	struct ri_cq *cq = kconf_cq_create(16, 0, NULL);
	int ret;

	if (!KCONF_EXPECT(!IS_ERR(cq)))
		return;
	ret = kal_cq_resize(cq, 64, NULL);
	if (ret == -EOPNOTSUPP) {
		KCONF_MISSING(cq->depth < 64, ret);
	} else {
		KCONF_EXPECT(!ret && cq->depth >= 64);
		KCONF_EXPECT(!kal_cq_resize(cq, 8, NULL) && cq->depth >= 8);
		KCONF_EXPECT(kal_cq_resize(cq, 0, NULL) == -EINVAL);
		KCONF_EXPECT(kal_cq_resize(cq, kconf.rnic->attr.limits.max_cqe + 1, NULL) ==
			     -EINVAL);
	}
	KCONF_EXPECT(!kal_cq_destroy(cq));
}

static void kconf_cq_moderation(void)
{
	const struct ib_cq_caps *caps = &kconf.rnic->attr.limits.cq_caps;
	struct ri_cq *cq = kconf_cq_create(16, 0, NULL);
	int ret;

	if (!KCONF_EXPECT(!IS_ERR(cq)))
		return;
	ret = kal_cq_modify(cq, 0, 0);
	if (ret == -EOPNOTSUPP) {
		KCONF_MISSING(!caps->max_cq_moderation_count && !caps->max_cq_moderation_period,
			      ret);
	} else {
		KCONF_EXPECT(!ret);
		KCONF_EXPECT(!kal_cq_modify(cq, min_t(u16, caps->max_cq_moderation_count, 4),
					    min_t(u16, caps->max_cq_moderation_period, 10)));
		if (caps->max_cq_moderation_count < U16_MAX)
			KCONF_EXPECT(kal_cq_modify(cq, caps->max_cq_moderation_count + 1, 0) ==
				     -EINVAL);
	}
	KCONF_EXPECT(!kal_cq_destroy(cq));
}

/* Regions and windows ******************************************************* */

static int kconf_mr_try(struct ri_pd *pd, u32 max, bool gaps)
{
	struct ri_mr *mr = kal_mr_alloc(pd, max, gaps);

	if (IS_ERR(mr))
		return PTR_ERR(mr);
	KCONF_EXPECT(mr->stag && mr->list.max >= max && mr->list.pages);
	KCONF_EXPECT(!gaps || mr->list.ends);
	return kal_mr_deregister(mr);
}

static void kconf_mr(void)
{
	const u32 max = kconf.rnic->attr.limits.max_fast_reg_page_list_len;
	struct ri_pd *pd = kal_pd_alloc(kconf.rnic, NULL, NULL);
	struct ri_mr *dma;

	if (!KCONF_EXPECT(!IS_ERR(pd)))
		return;
	KCONF_EXPECT(!kconf_mr_try(pd, 1, false));
	KCONF_EXPECT(!kconf_mr_try(pd, max, false));
	KCONF_EXPECT(kconf_mr_try(pd, 0, false) == -EINVAL);
	KCONF_EXPECT(kconf_mr_try(pd, max + 1, false) == -EINVAL);
	dma = kal_mr_register_dma(pd, IB_ACCESS_LOCAL_WRITE);
	if (KCONF_EXPECT(!IS_ERR(dma))) {
		KCONF_EXPECT(kal_pd_dealloc(pd) == -EBUSY);
		KCONF_EXPECT(!kal_mr_deregister(dma));
	}
	KCONF_EXPECT(!kal_pd_dealloc(pd));
}

static void kconf_mr_gaps(void)
{
	struct ri_pd *pd = kal_pd_alloc(kconf.rnic, NULL, NULL);
	int ret;

	if (!KCONF_EXPECT(!IS_ERR(pd)))
		return;
	ret = kconf_mr_try(pd, 4, true);
	if (kconf.rnic->attr.caps & RI_CAP_SG_GAPS)
		KCONF_EXPECT(!ret);
	else
		KCONF_MISSING(true, ret);
	KCONF_EXPECT(!kal_pd_dealloc(pd));
}

/* A region of @max pages that names one page, and then no other. */
static void kconf_mr_map_pages(struct ri_pd *pd, u32 max)
{
	struct kconf_mem *mem = &kconf_bed.near;
	struct ri_mr *mr;
	u32 key;

	mr = kal_mr_alloc_map(pd, max, false);
	if (!KCONF_EXPECT(!IS_ERR(mr)))
		return;
	key = ib_inc_rkey(mr->stag);
	KCONF_EXPECT(kal_mr_map(mr, KCONF_IOVA, 1, key, KCONF_WRITE) == -EINVAL);
	mr->list.pages[0] = mem->dma;
	mr->list.num = 1;
	mr->list.page_shift = PAGE_SHIFT;
	KCONF_EXPECT(kal_mr_map(mr, KCONF_IOVA, PAGE_SIZE + 1, key, KCONF_WRITE) == -EINVAL);
	KCONF_EXPECT(kal_mr_map(mr, KCONF_IOVA + 1, PAGE_SIZE, key, KCONF_WRITE) == -EINVAL);
	KCONF_EXPECT(kal_mr_map(mr, -1ULL, 2, key, KCONF_WRITE) == -EINVAL);
	KCONF_EXPECT(kal_mr_map(mr, KCONF_IOVA, 0, key, KCONF_WRITE) == -EINVAL);
	KCONF_EXPECT(kal_mr_map(mr, KCONF_IOVA, 1, key + 256, KCONF_WRITE) == -EINVAL);
	KCONF_EXPECT(kal_mr_map(mr, KCONF_IOVA, 1, key, IB_ACCESS_REMOTE_WRITE) == -EINVAL);
	KCONF_EXPECT(!kal_mr_map(mr, KCONF_IOVA, PAGE_SIZE, key, KCONF_WRITE));
	KCONF_EXPECT(mr->stag == key);
	KCONF_EXPECT(kal_mr_map(mr, KCONF_IOVA, PAGE_SIZE, key, KCONF_WRITE) == -EBUSY);
	KCONF_EXPECT(!kal_mr_deregister(mr));
}

static void kconf_mr_map(void)
{
	const u32 max = kconf.rnic->attr.limits.max_fast_reg_page_list_len;
	struct ri_pd *pd = kal_pd_alloc(kconf.rnic, NULL, NULL);

	if (!KCONF_EXPECT(!IS_ERR(pd)))
		return;
	if (!kconf.rnic->ops->mr_map) {
		KCONF_MISSING(true, PTR_ERR_OR_ZERO(kal_mr_alloc_map(pd, 1, false)));
	} else if (KCONF_EXPECT(kconf_mem_open(&kconf_bed.near, PAGE_SIZE))) {
		KCONF_EXPECT(PTR_ERR_OR_ZERO(kal_mr_alloc_map(pd, 0, false)) == -EINVAL);
		kconf_mr_map_pages(pd, 1);
		kconf_mr_map_pages(pd, 2 * max);
	}
	KCONF_EXPECT(!kal_pd_dealloc(pd));
}

static void kconf_mw(void)
{
	static const struct {
		enum ib_mw_type type;
		u64 cap;
	} kinds[] = {
		{ IB_MW_TYPE_1, IB_DEVICE_MEM_WINDOW },
		{ IB_MW_TYPE_2, IB_DEVICE_MEM_WINDOW_TYPE_2B },
	};
	struct ri_pd *pd = kal_pd_alloc(kconf.rnic, NULL, NULL);
	const u64 flags = kconf.rnic->attr.limits.device_cap_flags;
	struct ri_mw *mw;
	unsigned int i;

	if (!KCONF_EXPECT(!IS_ERR(pd)))
		return;
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		mw = kal_mw_alloc(pd, kinds[i].type);
		if (IS_ERR(mw)) {
			KCONF_MISSING(!(flags & kinds[i].cap), PTR_ERR(mw));
			continue;
		}
		KCONF_EXPECT(mw->stag && flags & kinds[i].cap);
		kal_mw_dealloc(mw);
	}
	KCONF_EXPECT(!kal_pd_dealloc(pd));
}

const struct kconf_check kconf_object_checks[] = {
	{ "limits", kconf_limits },
	{ "attributes", kconf_attributes },
	{ "port", kconf_port },
	{ "PD", kconf_pd },
	{ "CQ depths", kconf_cq_depths },
	{ "CQ event handlers", kconf_cq_handlers },
	{ "CQ resize", kconf_cq_resize },
	{ "CQ moderation", kconf_cq_moderation },
	{ "regions", kconf_mr },
	{ "regions with gaps", kconf_mr_gaps },
	{ "regions mapped at once", kconf_mr_map },
	{ "windows", kconf_mw },
	{}
};
