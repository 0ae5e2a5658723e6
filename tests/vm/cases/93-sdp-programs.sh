#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# what: unmodified servers and their clients on two hosts give the same results on TCP and under rules over SDP, and their bytes go by SDP: nginx, wrk, haproxy, memcached, rsync, redis, PostgreSQL, vsftpd, lftp, ssh, Java
# covers: sdp ops
# kernel: stock
# limit: 900
# shellcheck source=tests/vm/guest/lib.sh
. "$VM_LIB"
# shellcheck source=tests/vm/guest/ops.sh
. "$VM_REPO/tests/vm/guest/ops.sh"
# shellcheck source=tests/vm/guest/sdp.sh
. "$VM_REPO/tests/vm/guest/sdp.sh"
# shellcheck source=tests/vm/guest/programs.sh
. "$VM_REPO/tests/vm/guest/programs.sh"

# they share the files, and nothing else
at=$ADDR_B
server_in=(ip netns exec hostB) client_in=(ip netns exec hostA)

# what the connections of the namespaces have moved by SDP
by_sdp() { echo $(($(sdp_stat rx-copied) + $(sdp_stat rx-read))); }

# in the mode "sdp" each program's connections change to SDP: those that live long enough
one_program() {
	local before accepted
	if [ "$mode" != sdp ]; then
		"$@"
		return
	fi
	before=$(by_sdp) accepted=$(sdp_stat accepted)
	"$@"
	before=$(($(by_sdp) - before)) accepted=$(($(sdp_stat accepted) - accepted))
	say "$1: $accepted connections, $before bytes by SDP" >&2
	[ $accepted -gt 0 ] || fail "$1: no connection of SDP"
	[ $before -gt 0 ] || fail "$1: no byte by SDP"
}

shell() {
	mkdir -p keys
	[ -e keys/host ] || ssh-keygen -q -t ed25519 -N '' -f keys/host
	[ -e keys/user ] || ssh-keygen -q -t ed25519 -N '' -f keys/user
	cp keys/user.pub keys/authorized
	chmod 700 keys
	mkdir -p /run/sshd
	[ -e keys/data ] || head -c 3000000 /dev/urandom > keys/data
	background sshd 2222 /usr/sbin/sshd -D -e -p 2222 -o "ListenAddress=$at" -h "$PWD/keys/host" \
		-o "AuthorizedKeysFile=$PWD/keys/authorized" -o StrictModes=no -o UsePAM=no -o PidFile=none \
		-o PermitRootLogin=yes
	local to=(-p 2222 -i keys/user -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes "root@$at")
	rm -f keys/copy
	quietly bash -c 'ssh "$@" "cat > '"$PWD"'/keys/copy" < keys/data' ssh "${to[@]}"
	cmp keys/data keys/copy && echo "ssh: to the server"
	quietly bash -c 'ssh "$@" "cat '"$PWD"'/keys/data" > keys/back' ssh "${to[@]}"
	cmp keys/data keys/back && echo "ssh: from the server"
	quietly bash -c 'ssh "$@" "exit 7"; echo "status $?"' ssh "${to[@]}"
	echo "ssh: $(grep status client.log)"
	stop sshd
}

# OpenJDK's own SDP: a file says which sockets are of family 27. no rule has a part in it
jdk() {
	mkdir -p java
	cat > java/Echo.java << 'END'
import java.io.*;
import java.net.*;
import java.nio.*;
import java.nio.channels.*;
import java.util.*;

public class Echo {
	static byte[] data = new byte[1000000];

	static byte[] echoed(InputStream in, OutputStream out) throws Exception {
		Thread writer = new Thread(() -> {
			try {
				out.write(data);
				out.flush();
			} catch (IOException e) {
				throw new UncheckedIOException(e);
			}
		});
		writer.start();
		byte[] got = in.readNBytes(data.length);
		writer.join();
		return got;
	}

	public static void main(String[] args) throws Exception {
		InetSocketAddress at = new InetSocketAddress(args[1], 9700);
		new Random(7).nextBytes(data);
		if (args[0].equals("server")) {
			try (ServerSocket listener = new ServerSocket()) {
				listener.bind(at);
				for (int i = 0; i < 2; i++)
					try (Socket socket = listener.accept()) {
						socket.getInputStream().transferTo(socket.getOutputStream());
					}
			}
			return;
		}
		try (Socket socket = new Socket()) {
			socket.setTcpNoDelay(true);
			socket.connect(at);
			byte[] got = echoed(socket.getInputStream(), socket.getOutputStream());
			socket.shutdownOutput();
			System.out.println("socket " + Arrays.equals(got, data) + " " + socket.getInputStream().read());
		}
		try (SocketChannel channel = SocketChannel.open(at)) {
			Thread writer = new Thread(() -> {
				try {
					for (ByteBuffer out = ByteBuffer.wrap(data); out.hasRemaining();)
						channel.write(out);
				} catch (IOException e) {
					throw new UncheckedIOException(e);
				}
			});
			byte[] got = new byte[data.length];
			ByteBuffer room = ByteBuffer.wrap(got);
			writer.start();
			while (room.hasRemaining() && channel.read(room) >= 0)
				;
			writer.join();
			channel.shutdownOutput();
			System.out.println("channel " + Arrays.equals(got, data) + " " + channel.read(ByteBuffer.allocate(1)));
		}
	}
}
END
	[ -e java/Echo.class ] || javac -d java java/Echo.java
	printf 'bind %s 9700\nconnect %s 9700\n' "$at" "$at" > java/sdp.conf
	local jvm=(java -cp java -Djava.net.preferIPv4Stack=true) by=()
	[ "$mode" != sdp ] || jvm+=("-Dcom.sun.sdp.conf=$PWD/java/sdp.conf")
	background java 9700 "${jvm[@]}" Echo server "$at"
	quietly "${jvm[@]}" Echo client "$at"
	cat client.log
	wait_for 60 ended java || fail "Java's server does not end"
	wait "${pid_of[java]}" || fail "Java's server: $(cat java.log)"
}

hosts_up
left_out nginx wrk haproxy memcached rsync redis-server "$postgres/postgres" vsftpd /usr/sbin/sshd javac
mode_results() {
	common_programs
	! have /usr/sbin/sshd || one_program shell
	! have javac || one_program jdk
}
results tcp
# a connection that ends while its road opens is no reason to leave the peer alone for long
ops_load addresses=1 bad_peer_s=1
sdp_load
sdp_rules 1-65535
results sdp
all_sdp_gone
sdp_ends
hosts_down
counted $(($(wc -l < tcp.results) * 2)) 0
