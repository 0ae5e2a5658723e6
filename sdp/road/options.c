// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Options of the road's own level, SOL_SDP, which programs may also set as options of TCP that TCP
 * does not have. Those of TCP, IP and the socket are TCP's: the road looks at them when it needs
 * them.
 */
#include <linux/tcp.h>
#include <linux/uaccess.h>

#include "road.h"

/* Return: where the option is, or NULL; @most: its largest value */
static int *sdp_option(struct sdp_sock *ssk, int level, int name, int *most)
{
	if (level != SOL_SDP && level != SOL_TCP)
		return NULL;
	if (name == SDP_ZCOPY_THRESH) {
		*most = INT_MAX;
		return &ssk->zcopy_thresh;
	}
	if (name == SDP_ZCOPY_WRITE) {
		*most = 1;
		return &ssk->zcopy_write;
	}
	return NULL;
}

/**
 * sdp_setsockopt() - set an option
 * @ssk: socket
 * @level: of the option
 * @name: its number
 * @value: an int
 * @len: its length
 *
 * Return: 0; -ENOPROTOOPT: it is not one of the road. Context: may sleep.
 */
int sdp_setsockopt(struct sdp_sock *ssk, int level, int name, sockptr_t value, unsigned int len)
{
	int most, number;
	int *option = sdp_option(ssk, level, name, &most);

	if (!option)
		return -ENOPROTOOPT;
	if (len < sizeof(number))
		return -EINVAL;
	if (copy_from_sockptr(&number, value, sizeof(number)))
		return -EFAULT;
	if (number < -1 || number > most)
		return -EINVAL;
	WRITE_ONCE(*option, number);
	return 0;
}

/**
 * sdp_getsockopt() - read an option
 * @ssk: socket
 * @level: of the option
 * @name: its number
 * @value: filled
 * @len: room; bytes that were filled
 *
 * Return: 0; -ENOPROTOOPT: it is not one of the road. Context: may sleep.
 */
int sdp_getsockopt(struct sdp_sock *ssk, int level, int name, char __user *value, int __user *len)
{
	int most, number, room;
	int *option = sdp_option(ssk, level, name, &most);

	if (!option)
		return -ENOPROTOOPT;
	if (get_user(room, len))
		return -EFAULT;
	if (room < 0)
		return -EINVAL;
	number = READ_ONCE(*option);
	room = min_t(int, room, sizeof(number));
	if (put_user(room, len) || copy_to_user(value, &number, room))
		return -EFAULT;
	return 0;
}
