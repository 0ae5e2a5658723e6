/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Two processes share an open device. The owner passes its file descriptor through a socket.
 * The importer sends from the owner's region and receives into it, with its own queue pair in
 * the owner's protection domain. In each scene another process ends first. Both processes are
 * forked before any device is used.
 */
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <future>
#include <vector>

#include <endian.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "descriptor.hpp"
#include "rdma.hpp"

namespace {

using rdma::give_fd;
using rdma::must;
using rdma::require;
using rdma::require_eq;
using rdma::take_fd;

constexpr std::size_t region_size = 100'000;
constexpr std::size_t half = region_size / 2;
constexpr std::byte written{0x77};
constexpr std::byte received{0x99};
constexpr unsigned int scene_limit = 150; /* seconds */

using Device = rdma::Owned<ibv_context, ibv_close_device>;
using ImportedPd = rdma::Owned<ibv_pd, ibv_unimport_pd>;
using ImportedMr = rdma::Owned<ibv_mr, ibv_unimport_mr>;

/** struct Offer - the owner's message with the descriptor */
struct Offer {
	std::uint32_t pd;
	std::uint32_t mr;
	std::uint32_t key;
	std::uint64_t address;
};

std::byte pattern(std::size_t i)
{
	return static_cast<std::byte>(i * 7 + i / 251);
}

/* wait until the other process writes a byte or ends */
void expect(int socket, char wanted)
{
	char got = 0;

	require_eq(read(socket, &got, 1), ssize_t{1}, "the other process ended early");
	require_eq(int{got}, int{wanted}, "message of the other process");
}

void expect_end(int socket)
{
	char got = 0;

	require_eq(read(socket, &got, 1), ssize_t{0}, "the other process goes on");
}

void say(int socket, char what)
{
	require_eq(write(socket, &what, 1), ssize_t{1}, "write to the other process");
}

/** struct Owner - the process that opened the device */
struct Owner {
	Owner(const char *address, int socket)
		: bound{rdma::make_listener(address, nullptr)},
		  device{must(ibv_open_device(bound->verbs->device), "ibv_open_device")},
		  pd{must(ibv_alloc_pd(device.get()), "ibv_alloc_pd")}, memory{pd.get(),
									       region_size,
									       rdma::all_access}
	{
		for (std::size_t i = 0; i < region_size; i++)
			memory.data()[i] = pattern(i);
		give_fd(socket,
			Offer{pd->handle, memory.mr()->handle, memory.mr()->lkey, memory.address()},
			device->cmd_fd);
	}

	void check_what_came()
	{
		const std::span<std::byte> all = memory.span();
		const auto is = [](std::byte value) {
			return [value](std::byte b) { return b == value; };
		};

		require(std::all_of(all.begin(), all.begin() + half, is(written)),
			"what the importer's peer wrote");
		require(std::all_of(all.begin() + half, all.end(), is(received)),
			"what the importer received");
	}

	rdma::CmId bound;
	Device device;
	rdma::Pd pd;
	rdma::Memory memory;
};

/** struct Importer - the other process, with its own connected queue pair */
struct Importer {
	Importer(const char *address, int socket)
		: device{must(ibv_import_device(take_fd(socket, offer)), "ibv_import_device")},
		  pd{must(ibv_import_pd(device.get(), offer.pd), "ibv_import_pd")},
		  mr{must(ibv_import_mr(pd.get(), offer.mr), "ibv_import_mr")}, queue{device.get(),
										      16}
	{
		ibv_qp_init_attr attr{};

		require(device->num_comp_vectors > 0, "completion vectors");
		require_eq(mr->lkey, offer.key, "lkey");
		require_eq(mr->rkey, offer.key, "rkey");
		require_eq(mr->length, region_size, "length");
		attr.send_cq = attr.recv_cq = queue.cq();
		attr.qp_type = IBV_QPT_RC;
		attr.cap = {.max_send_wr = 4,
			    .max_recv_wr = 4,
			    .max_send_sge = 1,
			    .max_recv_sge = 1,
			    .max_inline_data = 0};
		qp.reset(must(ibv_create_qp(pd.get(), &attr), "ibv_create_qp"));
		connect(address);
	}

	void connect(const char *address)
	{
		const rdma::CmId listener = rdma::make_listener(address, nullptr);
		const std::string port = std::to_string(be16toh(rdma_get_src_port(listener.get())));
		rdma_conn_param param{};

		id = rdma::make_client(address, port.c_str());
		auto accepted = std::async(std::launch::async, [&] {
			peer = std::make_unique<rdma::Side>(rdma::next_request(listener.get()),
							    rdma::SideOptions{});
			peer->accept();
		});
		param.qp_num = qp->qp_num;
		param.responder_resources = param.initiator_depth = 4;
		must(rdma_connect(id.get(), &param), "rdma_connect");
		accepted.get();
	}

	ibv_sge sge(std::size_t offset, std::size_t length) const
	{
		return {offer.address + offset, static_cast<std::uint32_t>(length), mr->lkey};
	}

	/* send from the owner's region, which this process cannot read, to the peer */
	void send_all()
	{
		rdma::Memory sink{peer->pd(), region_size, IBV_ACCESS_LOCAL_WRITE};
		const std::array target{sink.sge()};
		ibv_sge source = sge(0, region_size);
		ibv_send_wr wr{};
		ibv_send_wr *bad = nullptr;

		must(peer->post_recv(target), "post_recv of the peer");
		wr.sg_list = &source;
		wr.num_sge = 1;
		wr.opcode = IBV_WR_SEND;
		wr.send_flags = IBV_SEND_SIGNALED;
		must(ibv_post_send(qp.get(), &wr, &bad), "ibv_post_send");
		rdma::require_status(queue.wait(), IBV_WC_SUCCESS, "Send out of the region");
		const ibv_wc wc = peer->recvs.wait();
		rdma::require_status(wc, IBV_WC_SUCCESS, "receive");
		require_eq(std::size_t{wc.byte_len}, region_size, "octets received");
		for (std::size_t i = 0; i < region_size; i++)
			require(sink.data()[i] == pattern(i), "octets of the owner's region");
	}

	/* receive into the region: a Write of the peer, and a Send */
	void fill()
	{
		rdma::Memory source{peer->pd(), half, IBV_ACCESS_LOCAL_WRITE, written};
		const std::array from{source.sge()};
		ibv_sge target = sge(half, region_size - half);
		ibv_recv_wr wr{};
		ibv_recv_wr *bad = nullptr;

		must(peer->post_rdma(IBV_WR_RDMA_WRITE, from, offer.address, mr->rkey), "Write");
		rdma::require_status(peer->sends.wait(), IBV_WC_SUCCESS, "Write");
		wr.sg_list = &target;
		wr.num_sge = 1;
		must(ibv_post_recv(qp.get(), &wr, &bad), "ibv_post_recv");
		std::ranges::fill(source.span(), received);
		must(peer->post_send(from), "Send of the peer");
		rdma::require_status(queue.wait(), IBV_WC_SUCCESS, "receive into the region");
		rdma::require_status(peer->sends.wait(), IBV_WC_SUCCESS, "Send of the peer");
	}

	/* the peer reads back the data of fill() */
	void check_by_reading()
	{
		rdma::Memory sink{peer->pd(), region_size, IBV_ACCESS_LOCAL_WRITE};
		const std::array target{sink.sge()};

		must(peer->post_rdma(IBV_WR_RDMA_READ, target, offer.address, mr->rkey), "Read");
		rdma::require_status(peer->sends.wait(), IBV_WC_SUCCESS, "Read of the region");
		for (std::size_t i = 0; i < region_size; i++)
			require(sink.data()[i] == (i < half ? written : received),
				"octets read back");
	}

	Offer offer{};
	Device device;
	ImportedPd pd;
	ImportedMr mr;
	rdma::Queue queue;
	rdma::Qp qp;
	rdma::CmId id;
	std::unique_ptr<rdma::Side> peer;
};

/* Scenes ******************************************************************* */

void owner_who_stays(const char *address, int socket)
{
	Owner owner{address, socket};

	expect(socket, 'd');
	owner.check_what_came();
	expect_end(socket);
	/* all objects of the importer are gone, and none of the owner's */
	const rdma::Memory another{owner.pd.get(), 5000, rdma::all_access};
	owner.memory.deregister();
}

void importer_who_ends(const char *address, int socket)
{
	Importer importer{address, socket};

	importer.send_all();
	importer.fill();
	say(socket, 'd');
}

void owner_who_ends(const char *address, int socket)
{
	const Owner owner{address, socket};

	expect(socket, 'i');
	/* as in a program that crashes */
	_exit(0);
}

void importer_who_stays(const char *address, int socket)
{
	Importer importer{address, socket};

	say(socket, 'i');
	expect_end(socket);
	importer.send_all();
	importer.fill();
	importer.check_by_reading();
}

void owner_left_alone(const char *address, int socket)
{
	Owner owner{address, socket};

	expect(socket, 'd');
	expect_end(socket);
	owner.check_what_came();
	owner.memory.deregister();
	/* the queue pair of the dead process lives until the last process closes the device */
	ibv_pd *pd = owner.pd.release();
	require_eq(ibv_dealloc_pd(pd), EBUSY, "dealloc of a domain with a queue pair");
}

void importer_who_is_killed(const char *address, int socket)
{
	Importer importer{address, socket};

	importer.send_all();
	importer.fill();
	say(socket, 'd');
	raise(SIGKILL);
}

void owner_of_little(const char *address, int socket)
{
	const Owner owner{address, socket};

	expect_end(socket);
}

void importer_of_nothing(const char *, int socket)
{
	Offer offer{};
	const int fd = take_fd(socket, offer);
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	require(!ibv_import_device(null), "/dev/null is a device");
	close(null);
	const Device device{must(ibv_import_device(fd), "ibv_import_device")};
	errno = 0;
	require(!ibv_import_pd(device.get(), 12345), "a domain that does not exist");
	require_eq(errno, ENOENT, "errno for the domain");
	errno = 0;
	require(!ibv_import_pd(device.get(), offer.mr), "a region as a domain");
	require(errno != 0, "errno for a region as a domain");
	const ImportedPd pd{must(ibv_import_pd(device.get(), offer.pd), "ibv_import_pd")};
	errno = 0;
	require(!ibv_import_mr(pd.get(), offer.pd), "a domain as a region");
	require(errno != 0, "errno for a domain as a region");
}

struct Scene {
	const char *name;
	void (*owner)(const char *address, int socket);
	void (*importer)(const char *address, int socket);
	int importer_signal; /* the signal that kills the importer */
};

constexpr std::array scenes{
	Scene{"importer_ends_first", owner_who_stays, importer_who_ends, 0},
	Scene{"owner_ends_first", owner_who_ends, importer_who_stays, 0},
	Scene{"importer_is_killed", owner_left_alone, importer_who_is_killed, SIGKILL},
	Scene{"refusals", owner_of_little, importer_of_nothing, 0},
};

pid_t start(void (*role)(const char *, int), const char *address, int socket, int others)
{
	const pid_t pid = fork();

	require(pid >= 0, "fork");
	if (pid)
		return pid;
	close(others);
	alarm(scene_limit);
	try {
		role(address, socket);
	} catch (const rdma::Failure &failure) {
		std::printf("%s\n", failure.what());
		std::fflush(stdout);
		_exit(1);
	}
	_exit(0);
}

bool ended_as(pid_t pid, int wanted_signal)
{
	int status = 0;

	if (waitpid(pid, &status, 0) != pid)
		return false;
	if (wanted_signal)
		return WIFSIGNALED(status) && WTERMSIG(status) == wanted_signal;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool play(const Scene &scene, const char *address)
{
	std::array<int, 2> sockets{};

	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets.data()), "socketpair");
	const pid_t owner = start(scene.owner, address, sockets[0], sockets[1]);
	const pid_t importer = start(scene.importer, address, sockets[1], sockets[0]);
	for (const int socket : sockets)
		close(socket);
	const bool importer_ok = ended_as(importer, scene.importer_signal);
	const bool owner_ok = ended_as(owner, 0);
	std::printf("%-40s %s\n", scene.name, importer_ok && owner_ok ? "ok" : "FAILED");
	std::fflush(stdout);
	return importer_ok && owner_ok;
}

} /* namespace */

int main(int argc, char **argv)
{
	if (argc != 2) {
		std::fprintf(stderr,
			     "%s ADDRESS	on the RNIC with that address of this host\n",
			     argv[0]);
		return 2;
	}
	int failed = 0;
	for (const Scene &scene : scenes)
		failed += !play(scene, argv[1]);
	std::printf("%zu passed, %d failed\n", scenes.size() - failed, failed);
	return failed != 0;
}
