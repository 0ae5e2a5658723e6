// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Checks of kDAPL's conformance test: the registry, interface adapters, handles and contexts. */
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "kdatc.h"

/* The registry ************************************************************** */

#define KDATC_PROVIDERS	16

/* Fill @infos. Return: number of providers, or -1. */
static int kdatc_ia_list(DAT_PROVIDER_INFO *infos, DAT_COUNT max)
{
	DAT_PROVIDER_INFO *list[KDATC_PROVIDERS];
	DAT_COUNT num = 0;
	unsigned int i;

	for (i = 0; i < KDATC_PROVIDERS; i++)
		list[i] = &infos[i];
	if (!KDATC_OK(dat_registry_list_providers(max, &num, list)))
		return -1;
	return num;
}

static const DAT_PROVIDER_INFO *kdatc_ia_listed(const DAT_PROVIDER_INFO *infos, int num,
						const char *name)
{
	for (; num > 0; num--, infos++)
		if (!strcmp(infos->ia_name, name))
			return infos;
	return NULL;
}

static void kdatc_ia_registry(void)
{
	DAT_PROVIDER_INFO *infos = kcalloc(KDATC_PROVIDERS, sizeof(*infos), GFP_KERNEL);
	const DAT_PROVIDER_INFO *info;
	int num;

	if (!KDATC_EXPECT(infos))
		return;
	num = kdatc_ia_list(infos, KDATC_PROVIDERS);
	KDATC_EXPECT(num >= 2 && num <= KDATC_PROVIDERS && num % 2 == 0);
	info = kdatc_ia_listed(infos, num, kdatc.name);
	if (KDATC_EXPECT(info))
		KDATC_EXPECT(info->dapl_version_major == 2 && info->dapl_version_minor == 0 &&
			     info->is_thread_safe == DAT_TRUE);
	KDATC_EXPECT(kdatc_ia_listed(infos, num, kdatc.ib_name));
	/* less room than there are providers, and none: then the number says how many there are */
	memset(infos, 0, KDATC_PROVIDERS * sizeof(*infos));
	KDATC_EXPECT(kdatc_ia_list(infos, 0) == num && !*infos[0].ia_name);
	KDATC_EXPECT(kdatc_ia_list(infos, 1) == 1);
	KDATC_EXPECT(*infos[0].ia_name && !*infos[1].ia_name);
	KDATC_TYPE(dat_registry_list_providers(KDATC_PROVIDERS, NULL, NULL),
		   DAT_INVALID_PARAMETER);
	kfree(infos);
}

/* Open and expect an error. */
static void kdatc_ia_open_error(const char *name, u32 major, u32 minor, u32 subtype, int line)
{
	DAT_EVD_HANDLE async = NULL;
	DAT_IA_HANDLE ia = NULL;
	DAT_RETURN ret;

	ret = dat_ia_openv(name, 8, &async, &ia, major, minor, DAT_TRUE);
	kdatc_answers(ret, KDATC_ERROR(DAT_PROVIDER_NOT_FOUND, subtype), ~0U, __FILE__, line,
		      "dat_ia_openv");
	KDATC_EXPECT(!async && !ia);
}

static void kdatc_ia_open_errors(void)
{
	DAT_EVD_HANDLE async = NULL;
	DAT_IA_HANDLE ia = NULL;

	kdatc_ia_open_error("no such RNIC", 2, 0, DAT_NAME_NOT_REGISTERED, __LINE__);
	kdatc_ia_open_error("", 2, 0, DAT_NAME_NOT_REGISTERED, __LINE__);
	kdatc_ia_open_error(kdatc.name, 1, 0, DAT_MAJOR_NOT_FOUND, __LINE__);
	kdatc_ia_open_error(kdatc.name, 3, 0, DAT_MAJOR_NOT_FOUND, __LINE__);
	kdatc_ia_open_error(kdatc.name, 2, 1, DAT_MINOR_NOT_FOUND, __LINE__);
	KDATC_TYPE(dat_ia_openv(NULL, 8, &async, &ia, 2, 0, DAT_TRUE), DAT_INVALID_PARAMETER);
	KDATC_REFUSED(dat_ia_openv(kdatc.name, -1, &async, &ia, 2, 0, DAT_TRUE),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_ia_openv(kdatc.name, 8, NULL, &ia, 2, 0, DAT_TRUE),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	KDATC_REFUSED(dat_ia_openv(kdatc.name, 8, &async, NULL, 2, 0, DAT_TRUE),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	/* an EVD of another type */
	async = kdatc_evd(DAT_EVD_CONNECTION_FLAG);
	kdatc_bed.client[0].conn = async;
	KDATC_REFUSED(dat_ia_openv(kdatc.name, 8, &async, &ia, 2, 0, DAT_TRUE),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
	KDATC_EXPECT(!ia);
}

/* A thread-safe provider serves consumers that do not need it. */
static void kdatc_ia_thread_safety(void)
{
	DAT_EVD_HANDLE async = NULL;
	DAT_IA_HANDLE ia = NULL;

	if (KDATC_OK(dat_ia_openv(kdatc.name, 8, &async, &ia, 2, 0, DAT_FALSE)))
		KDATC_OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* A second provider ********************************************************* */

static DAT_RETURN kdatc_ia_fake_open(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
				     DAT_IA_HANDLE *ia);
static DAT_RETURN kdatc_ia_fake_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);

static DAT_PROVIDER kdatc_ia_fake = {
	.device_name = "kdatc-fake",
	.ia_open_func = kdatc_ia_fake_open,
	.ia_close_func = kdatc_ia_fake_close,
};

static const DAT_PROVIDER_INFO kdatc_ia_fake_info = {
	.ia_name = "kdatc-fake",
	.dapl_version_major = 2,
	.dapl_version_minor = 0,
	.is_thread_safe = DAT_FALSE,
};

/* the first word of a handle's object is its provider */
static const DAT_PROVIDER *kdatc_ia_fake_handle = &kdatc_ia_fake;
static int kdatc_ia_fakes_open;

static DAT_RETURN kdatc_ia_fake_open(const char *name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
				     DAT_IA_HANDLE *ia)
{
	KDATC_EXPECT(!strcmp(name, "kdatc-fake") && qlen == 33);
	kdatc_ia_fakes_open++;
	*ia = &kdatc_ia_fake_handle;
	return DAT_SUCCESS;
}

static DAT_RETURN kdatc_ia_fake_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
	KDATC_EXPECT(ia == &kdatc_ia_fake_handle && flags == DAT_CLOSE_GRACEFUL_FLAG);
	kdatc_ia_fakes_open--;
	return DAT_SUCCESS;
}

static void kdatc_ia_second_provider(void)
{
	DAT_PROVIDER_INFO info = kdatc_ia_fake_info;
	DAT_EVD_HANDLE async = NULL;
	DAT_IA_HANDLE ia = NULL;
	DAT_PZ_HANDLE pz;

	KDATC_REFUSED(dat_registry_remove_provider(&kdatc_ia_fake, &info),
		      DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	if (!KDATC_OK(dat_registry_add_provider(&kdatc_ia_fake, &info)))
		return;
	KDATC_REFUSED(dat_registry_add_provider(&kdatc_ia_fake, &info),
		      DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE);
	/* it is not thread-safe */
	KDATC_REFUSED(dat_ia_openv("kdatc-fake", 33, &async, &ia, 2, 0, DAT_TRUE),
		      DAT_PROVIDER_NOT_FOUND, DAT_THREAD_SAFETY_NOT_FOUND);
	KDATC_OK(dat_ia_openv("kdatc-fake", 33, &async, &ia, 2, 0, DAT_FALSE));
	KDATC_EXPECT(ia == &kdatc_ia_fake_handle && kdatc_ia_fakes_open == 1);
	KDATC_REFUSED(dat_registry_remove_provider(&kdatc_ia_fake, &info), DAT_PROVIDER_IN_USE,
		      DAT_NO_SUBTYPE);
	/* functions that its table does not have */
	KDATC_TYPE(dat_pz_create(ia, &pz), DAT_NOT_IMPLEMENTED);
	KDATC_OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	KDATC_EXPECT(!kdatc_ia_fakes_open);
	KDATC_OK(dat_registry_remove_provider(&kdatc_ia_fake, &info));
	kdatc_ia_open_error("kdatc-fake", 2, 0, DAT_NAME_NOT_REGISTERED, __LINE__);
	KDATC_TYPE(dat_registry_add_provider(NULL, &info), DAT_INVALID_PARAMETER);
	KDATC_TYPE(dat_registry_add_provider(&kdatc_ia_fake, NULL), DAT_INVALID_PARAMETER);
}

/* No provider gets a name that is in use. */
static void kdatc_ia_taken_name(void)
{
	DAT_PROVIDER_INFO info = kdatc_ia_fake_info;

	strscpy(info.ia_name, kdatc.name, sizeof(info.ia_name));
	info.is_thread_safe = DAT_TRUE;
	KDATC_REFUSED(dat_registry_add_provider(&kdatc_ia_fake, &info),
		      DAT_PROVIDER_ALREADY_REGISTERED, DAT_NO_SUBTYPE);
}

/* Attributes **************************************************************** */

static void kdatc_ia_attributes(void)
{
	const struct sockaddr *address = kdatc.attr.ia_address_ptr;
	const DAT_IA_ATTR *attr = &kdatc.attr;

	KDATC_EXPECT(*attr->adapter_name && *attr->vendor_name);
	KDATC_EXPECT(address && (address->sa_family == AF_INET || address->sa_family == AF_INET6));
	KDATC_EXPECT(attr->max_eps > 0 && attr->max_dto_per_ep >= KDATC_QUEUE);
	KDATC_EXPECT(attr->max_rdma_read_per_ep_in > 0 && attr->max_rdma_read_per_ep_out > 0);
	KDATC_EXPECT(attr->max_evds > 0 && attr->max_evd_qlen >= KDATC_EVENTS);
	KDATC_EXPECT(attr->max_iov_segments_per_dto >= 1);
	KDATC_EXPECT(attr->max_lmrs > 0 && attr->max_lmr_block_size >= KDATC_SIZE);
	KDATC_EXPECT(attr->max_lmr_virtual_address > 0 && attr->max_pzs > 0);
	KDATC_EXPECT(attr->max_message_size >= KDATC_SIZE && attr->max_rdma_size >= KDATC_SIZE);
	KDATC_EXPECT(attr->max_rmrs >= 0 && attr->max_rmr_target_address > 0);
	KDATC_EXPECT(attr->max_iov_segments_per_rdma_read >= 1);
	KDATC_EXPECT(attr->max_iov_segments_per_rdma_write >= 1);
	KDATC_EXPECT(attr->max_rdma_read_in >= attr->max_rdma_read_per_ep_in);
	KDATC_EXPECT(attr->max_rdma_read_out >= attr->max_rdma_read_per_ep_out);
	KDATC_EXPECT(attr->extension_supported == DAT_EXTENSION_IW);
	KDATC_EXPECT(attr->extension_version > 0);
	KDATC_EXPECT(!attr->num_transport_attr || attr->transport_attr);
	KDATC_EXPECT(!attr->num_vendor_attr || attr->vendor_attr);
}

static void kdatc_ia_provider_attributes(void)
{
	const DAT_PROVIDER_ATTR *attr = &kdatc.provider;
	DAT_COUNT i;

	KDATC_EXPECT(*attr->provider_name && attr->provider_version_major > 0);
	KDATC_EXPECT(attr->dapl_version_major == 2 && attr->dapl_version_minor == 0);
	KDATC_EXPECT(attr->lmr_mem_types_supported & DAT_MEM_TYPE_PHYSICAL);
	KDATC_EXPECT(attr->is_thread_safe == DAT_TRUE);
	KDATC_EXPECT(attr->max_private_data_size >= 56);
	KDATC_EXPECT(attr->ep_creator == DAT_PSP_CREATES_EP_IFASKED);
	KDATC_EXPECT(attr->upcall_policy == DAT_UPCALL_MANY);
	KDATC_EXPECT(attr->optimal_buffer_alignment > 0);
	for (i = 0; i < 6; i++)
		KDATC_EXPECT(attr->evd_stream_merging_supported[i][i] == DAT_TRUE);
	KDATC_EXPECT(attr->srq_supported == (kdatc.attr.max_srqs > 0));
	KDATC_EXPECT(attr->rmr_scope_supported <= DAT_RMR_SCOPE_ANY);
	KDATC_EXPECT(!attr->ha_supported && !attr->supports_multipath);
	KDATC_EXPECT(attr->num_provider_specific_attr > 0);
	for (i = 0; i < attr->num_provider_specific_attr; i++)
		KDATC_EXPECT(attr->provider_specific_attr[i].name &&
			     attr->provider_specific_attr[i].value);
}

static void kdatc_ia_extensions(void)
{
	KDATC_EXPECT(kdatc.attr.extension_supported == DAT_EXTENSION_IB);
}

static void kdatc_ia_query_errors(void)
{
	DAT_PROVIDER_ATTR provider;
	DAT_EVD_HANDLE async;
	DAT_IA_ATTR attr;

	KDATC_OK(dat_ia_query(kdatc_bed.ia, &async, 0, NULL, 0, NULL));
	KDATC_EXPECT(async == kdatc_bed.async);
	KDATC_REFUSED(dat_ia_query(kdatc_bed.ia, NULL, ~0ULL, &attr, 0, NULL),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	KDATC_REFUSED(dat_ia_query(kdatc_bed.ia, NULL, DAT_IA_FIELD_ALL, NULL, 0, NULL),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	KDATC_REFUSED(dat_ia_query(kdatc_bed.ia, NULL, 0, NULL, ~0ULL, &provider),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	KDATC_REFUSED(dat_ia_query(kdatc_bed.ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL),
		      DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	KDATC_REFUSED(dat_ia_query(kdatc_bed.async, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL),
		      DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
}

static void kdatc_ia_related(void)
{
	DAT_HA_RELATIONSHIP related = DAT_HA_UNKNOWN;

	KDATC_OK(dat_registry_providers_related(kdatc.name, kdatc.ib_name, &related));
	KDATC_EXPECT(related == DAT_HA_TRUE);
	KDATC_TYPE(dat_registry_providers_related(kdatc.name, "no such RNIC", &related),
		   DAT_PROVIDER_NOT_FOUND);
}

/* Close ********************************************************************* */

static void kdatc_ia_graceful(void)
{
	DAT_EVD_HANDLE async = NULL, evd = NULL;
	DAT_UPCALL_OBJECT none = DAT_UPCALL_NULL;
	DAT_IA_HANDLE ia = NULL;
	DAT_PZ_HANDLE pz = NULL;

	if (!KDATC_OK(dat_ia_openv(kdatc.name, 8, &async, &ia, 2, 0, DAT_TRUE)))
		return;
	KDATC_EXPECT(ia != kdatc_bed.ia && async && async != kdatc_bed.async);
	KDATC_REFUSED(dat_ia_close(ia, 7), DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	KDATC_OK(dat_pz_create(ia, &pz));
	KDATC_REFUSED(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
		      DAT_INVALID_STATE_IA_IN_USE);
	KDATC_OK(dat_pz_free(pz));
	KDATC_OK(dat_evd_kcreate(ia, 8, DAT_UPCALL_DISABLE, &none, DAT_EVD_CR_FLAG, &evd));
	KDATC_REFUSED(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
		      DAT_INVALID_STATE_IA_IN_USE);
	KDATC_OK(dat_evd_free(evd));
	KDATC_OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* Two IAs share an EVD for asynchronous events. */
static void kdatc_ia_shared_async(void)
{
	DAT_EVD_HANDLE async = kdatc_bed.async;
	DAT_IA_HANDLE ia = NULL;

	if (!KDATC_OK(dat_ia_openv(kdatc.name, 8, &async, &ia, 2, 0, DAT_TRUE)))
		return;
	KDATC_EXPECT(async == kdatc_bed.async);
	KDATC_REFUSED(dat_evd_free(async), DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE);
	KDATC_OK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	KDATC_EXPECT(kdatc_silent(kdatc_bed.async));
}

/* Close with everything open, requests under way and a connection. */
static void kdatc_ia_abrupt(void)
{
	struct kdatc_side *client = &kdatc_bed.client[0], *server = &kdatc_bed.server[0];
	struct kdatc_side *waiting = &kdatc_bed.client[1];
	DAT_IA_HANDLE ia = kdatc_bed.ia;
	DAT_RMR_TRIPLET far;
	unsigned int i;

	if (!kdatc_pair_open(0, NULL, NULL) || !kdatc_side_open(waiting, NULL))
		return;
	for (i = 0; i < 4; i++) {
		KDATC_OK(kdatc_recv(client, i, 0, 100));
		KDATC_OK(kdatc_recv(server, i, 0, 100));
		far = kdatc_far(&server->mem, 0, KDATC_SIZE);
		KDATC_OK(kdatc_write(client, i, 0, KDATC_SIZE, &far, DAT_COMPLETION_DEFAULT_FLAG));
	}
	/* a request without an answer */
	KDATC_OK(kdatc_connect(waiting->ep, NULL, 0));
	KDATC_EXPECT(kdatc_cr());
	KDATC_REFUSED(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
		      DAT_INVALID_STATE_IA_IN_USE);
	if (KDATC_OK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG)))
		kdatc_bed_forget();
}

/* Handles ******************************************************************* */

static void kdatc_ia_has_type(DAT_HANDLE handle, DAT_HANDLE_TYPE type, u64 number)
{
	DAT_HANDLE_TYPE got = -1;
	DAT_CONTEXT context = {};

	KDATC_OK(dat_get_handle_type(handle, &got));
	KDATC_EXPECT(got == type);
	KDATC_OK(dat_get_consumer_context(handle, &context));
	KDATC_EXPECT(context.as_64 == 0);
	KDATC_OK(dat_set_consumer_context(handle, kdatc_cookie(number)));
	KDATC_OK(dat_get_consumer_context(handle, &context));
	KDATC_EXPECT(context.as_64 == number);
}

static void kdatc_ia_handles(void)
{
	struct kdatc_side *side = &kdatc_bed.client[0];
	DAT_HANDLE_TYPE type;
	DAT_CONTEXT context;

	if (!kdatc_side_open(side, NULL) || !kdatc_listen())
		return;
	kdatc_ia_has_type(kdatc_bed.ia, DAT_HANDLE_TYPE_IA, 1);
	kdatc_ia_has_type(side->pz, DAT_HANDLE_TYPE_PZ, 2);
	kdatc_ia_has_type(side->conn, DAT_HANDLE_TYPE_EVD, 3);
	kdatc_ia_has_type(side->ep, DAT_HANDLE_TYPE_EP, 4);
	kdatc_ia_has_type(side->mem.lmr, DAT_HANDLE_TYPE_LMR, 5);
	if (kdatc_bed.psp)
		kdatc_ia_has_type(kdatc_bed.psp, DAT_HANDLE_TYPE_PSP, 6);
	else
		kdatc_ia_has_type(kdatc_bed.csp, DAT_HANDLE_TYPE_CSP, 7);
	KDATC_TYPE(dat_get_handle_type(NULL, &type), DAT_INVALID_HANDLE);
	KDATC_TYPE(dat_get_consumer_context(NULL, &context), DAT_INVALID_HANDLE);
	KDATC_TYPE(dat_set_consumer_context(NULL, kdatc_cookie(1)), DAT_INVALID_HANDLE);
	KDATC_REFUSED(dat_get_handle_type(side->ep, NULL), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG2);
	KDATC_REFUSED(dat_get_consumer_context(side->ep, NULL), DAT_INVALID_PARAMETER,
		      DAT_INVALID_ARG2);
}

static void kdatc_ia_pz(void)
{
	DAT_PZ_PARAM param = {};
	DAT_PZ_HANDLE pz = NULL;

	KDATC_OK(dat_pz_create(kdatc_bed.ia, &pz));
	KDATC_OK(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &param));
	KDATC_EXPECT(param.ia_handle == kdatc_bed.ia);
	KDATC_OK(dat_pz_free(pz));
	if (!kdatc_side_open(&kdatc_bed.client[0], NULL))
		return;
	KDATC_REFUSED(dat_pz_free(kdatc_bed.client[0].pz), DAT_INVALID_STATE,
		      DAT_INVALID_STATE_PZ_IN_USE);
}

static void kdatc_ia_strerror(void)
{
	const char *major = NULL, *minor = NULL;

	KDATC_OK(dat_strerror(KDATC_ERROR(DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE), &major,
			      &minor));
	KDATC_EXPECT(major && strstr(major, "DAT_INVALID_STATE"));
	KDATC_EXPECT(minor && strstr(minor, "PZ_IN_USE"));
	KDATC_OK(dat_strerror(DAT_SUCCESS, &major, &minor));
	KDATC_EXPECT(major && strstr(major, "DAT_SUCCESS") && minor);
	KDATC_TYPE(dat_strerror(KDATC_ERROR(0x2fff0000, 0), &major, &minor),
		   DAT_INVALID_PARAMETER);
}

const struct kdatc_check kdatc_ia_checks[] = {
	{ "registry", kdatc_ia_registry },
	{ "open errors", kdatc_ia_open_errors },
	{ "thread safety", kdatc_ia_thread_safety },
	{ "second provider", kdatc_ia_second_provider },
	{ "taken name", kdatc_ia_taken_name },
	{ "related providers", kdatc_ia_related },
	{ "IA attributes", kdatc_ia_attributes },
	{ "provider attributes", kdatc_ia_provider_attributes },
	{ "extension of NAME-ib", kdatc_ia_extensions, true },
	{ "IA query", kdatc_ia_query_errors },
	{ "graceful close", kdatc_ia_graceful },
	{ "shared asynchronous EVD", kdatc_ia_shared_async },
	{ "abrupt close", kdatc_ia_abrupt },
	{ "handles and contexts", kdatc_ia_handles },
	{ "protection zones", kdatc_ia_pz },
	{ "error texts", kdatc_ia_strerror },
	{}
};
