/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The checks of krdma_verbs and similar programs. Each check is a function in a table. It
 * throws rdma::Failure if the check fails. It gets a World: the address of an RNIC of this
 * host. Both ends of every connection are at this address.
 */
#ifndef KRDMA_TEST_CHECKS_HPP
#define KRDMA_TEST_CHECKS_HPP

#include <array>
#include <memory>
#include <vector>

#include "rdma.hpp"

namespace checks {

class World {
public:
	explicit World(const char *address);

	[[nodiscard]] ibv_context *context() const
	{
		return bound_->verbs;
	}
	[[nodiscard]] const ibv_device_attr &device() const
	{
		return device_;
	}
	[[nodiscard]] const char *address() const
	{
		return address_;
	}
	[[nodiscard]] const char *port() const
	{
		return port_.c_str();
	}
	[[nodiscard]] rdma_cm_id *listener() const
	{
		return listener_.get();
	}

private:
	const char *address_;
	rdma::CmId bound_;
	rdma::CmId listener_;
	std::string port_;
	ibv_device_attr device_{};
};

/** class Pair - a connection with both ends here; the client sends first */
class Pair {
public:
	explicit Pair(World &world, const rdma::SideOptions &client_options = {},
		      const rdma::SideOptions &server_options = {});

	rdma::Side &client()
	{
		return *client_;
	}
	rdma::Side &server()
	{
		return *server_;
	}

private:
	std::unique_ptr<rdma::Side> client_;
	std::unique_ptr<rdma::Side> server_;
};

/* Send a message of that many bytes through a connection: the device still works. */
void still_works(World &world);

struct Check {
	const char *name;
	void (*run)(World &world);
};

/* main() of a program of checks: parses the command line, runs all of @all or one of them */
int run_program(int argc, char **argv, const std::vector<Check> &all);

/* one table for each file; of krdma_verbs */
extern const std::vector<Check> object_checks;
extern const std::vector<Check> data_checks;
extern const std::vector<Check> run_checks;
extern const std::vector<Check> access_checks;
extern const std::vector<Check> local_checks;
extern const std::vector<Check> hostile_checks;
extern const std::vector<Check> wait_checks;
/* of krdma_memory */
extern const std::vector<Check> read_sink_checks;
/* of krdma_rfc7306 */
extern const std::vector<Check> immediate_checks;
extern const std::vector<Check> atomic_checks;
extern const std::vector<Check> region_checks;
extern const std::vector<Check> window_checks;
extern const std::vector<Check> refusal_checks;
extern const std::vector<Check> end_checks;

} /* namespace checks */

#endif /* KRDMA_TEST_CHECKS_HPP */
