/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The choice of a device of krdma_hw: a kernel that does not wait for its end, and errors that are
 * not "krdma_hw is not loaded".
 */
#include "hw_devices.hpp"

#include <cerrno>
#include <system_error>

#include <gtest/gtest.h>

#include <krdma/hw-netlink.h>

#include "command.hpp"
#include "fake_netlink.hpp"
#include "genetlink.hpp"

namespace {

using namespace krdma::tools;

class HwDevices : public testing::Test {
protected:
	void SetUp() override
	{
		kernel = {};
		kernel.devices = {named("rxe0"), named("siw0")};
	}

	static HwDevice named(const char *name)
	{
		HwDevice device;

		device.name = name;
		return device;
	}

	/* The errno that a choice throws, 0: none. */
	static int chosen(const std::string &name, krdma_hw_choice choice)
	{
		try {
			choose_hw_device(name, choice);
		} catch (const std::system_error &error) {
			return error.code().value();
		}
		return 0;
	}
};

TEST_F(HwDevices, AChoiceThatIsMetAtOnceNeedsNoList)
{
	EXPECT_EQ(chosen("siw0", KRDMA_HW_ADOPT), 0);
	ASSERT_EQ(kernel.choices.size(), 1U);
	EXPECT_EQ(kernel.choices[0].first, "siw0");
	EXPECT_EQ(kernel.choices[0].second, KRDMA_HW_ADOPT);
	EXPECT_EQ(kernel.lists, 0U);
}

TEST_F(HwDevices, AnAdoptionInProgressIsWaitedFor)
{
	kernel.set_error = EINPROGRESS;
	kernel.on_list = [](unsigned int before) {
		/* the other device does not count */
		kernel.devices[0].adopted = true;
		kernel.devices[1].adopted = before == 3;
	};
	EXPECT_EQ(chosen("siw0", KRDMA_HW_ADOPT), 0);
	EXPECT_EQ(kernel.lists, 4U);
}

TEST_F(HwDevices, AReleaseInProgressIsWaitedFor)
{
	kernel.set_error = EINPROGRESS;
	kernel.on_list = [](unsigned int before) { kernel.devices[1].adopted = before < 2; };
	EXPECT_EQ(chosen("siw0", KRDMA_HW_RELEASE), 0);
	EXPECT_EQ(kernel.lists, 3U);
}

TEST_F(HwDevices, AnAdoptionThatFailsLaterFails)
{
	kernel.set_error = EINPROGRESS;
	kernel.on_list = [](unsigned int before) {
		kernel.devices[1].error = before == 1 ? EIO : 0;
	};
	EXPECT_EQ(chosen("siw0", KRDMA_HW_ADOPT_FORCED), EIO);
}

TEST_F(HwDevices, ADeviceThatGoesMeanwhileIsAbsent)
{
	kernel.set_error = EINPROGRESS;
	kernel.on_list = [](unsigned int before) {
		if (before == 1)
			kernel.devices.pop_back();
	};
	EXPECT_EQ(chosen("siw0", KRDMA_HW_ADOPT), ENODEV);
}

TEST_F(HwDevices, WhatTheParameterSaysIsNotWaitedFor)
{
	kernel.set_error = EINPROGRESS;
	EXPECT_EQ(chosen("siw0", KRDMA_HW_BY_PARAMETER), 0);
	EXPECT_EQ(kernel.lists, 0U);
}

/* A refusal stays what it is, also if there is no list for a hint. */
TEST_F(HwDevices, ARefusalIsShown)
{
	kernel.set_error = EOPNOTSUPP;
	kernel.list_error = ENOMEM;
	EXPECT_EQ(chosen("siw0", KRDMA_HW_ADOPT), EOPNOTSUPP);
	kernel.set_error = ENODEV;
	EXPECT_EQ(chosen("siw7", KRDMA_HW_ADOPT), ENODEV);
}

TEST_F(HwDevices, OfWhatIsWaitedForNoErrorIsOverlooked)
{
	kernel.set_error = EINPROGRESS;
	kernel.list_error = ENOMEM;
	EXPECT_EQ(chosen("siw0", KRDMA_HW_ADOPT), ENOMEM);
}

TEST_F(HwDevices, ADeviceIsFoundByItsName)
{
	ASSERT_TRUE(find_hw_device("siw0"));
	EXPECT_EQ(find_hw_device("siw0")->name, "siw0");
	EXPECT_FALSE(find_hw_device("siw"));
	EXPECT_FALSE(find_hw_device("siw01"));
}

/* Without the module there is no device. Any other error does not say that. */
TEST_F(HwDevices, AnErrorIsNotAnAbsentModule)
{
	kernel.family_error = ENOENT;
	EXPECT_FALSE(find_hw_device("siw0"));
	EXPECT_THROW((void)hw_devices(), NoFamily);
	kernel.family_error = EPERM;
	EXPECT_THROW((void)find_hw_device("siw0"), std::system_error);
	kernel.family_error = 0;
	kernel.list_error = ENOMEM;
	EXPECT_THROW((void)find_hw_device("siw0"), std::system_error);
}

} /* namespace */
