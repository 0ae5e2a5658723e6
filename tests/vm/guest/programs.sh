#!/bin/bash
# SPDX-License-Identifier: GPL-2.0 OR MIT
# Unmodified servers and their clients, for the cases that compare their results over a road with
# those on TCP. Sourced after lib.sh and ops.sh.

# where servers listen; what servers and clients are entered by, and run by: nothing, or a command
at=127.0.0.1
server_in=() client_in=()
by=()
have() { command -v "$1" > /dev/null || [ -x "$1" ]; }

server_listens() { [ -n "$("${server_in[@]}" ss -Hltn "sport = :$1")" ]; }

# background NAME PORT COMMAND...: a server, until stop NAME
background() {
	local name=$1 port=$2
	shift 2
	"${server_in[@]}" "${by[@]}" "$@" > "$name.log" 2>&1 < /dev/null &
	pid_of["$name"]=$!
	wait_for 60 server_listens "$port" || { cat "$name"*.log; fail "$name does not listen"; }
}

# stop NAME [SIGNAL]: it ends
stop() {
	kill -"${2:-TERM}" "${pid_of[$1]}"
	wait_for 30 ended "$1" || { cat "$1.log"; fail "$1 does not end"; }
	wait "${pid_of[$1]}" || true
}

# quietly COMMAND...: a client; what it says is for a failure only
quietly() {
	timeout "$(patient 120)" "${client_in[@]}" "${by[@]}" "$@" > client.log 2>&1 || { local rc=$?; cat client.log ./*-error.log; fail "'$*' ended with $rc"; }
}

web() {
	local i
	mkdir -p web
	[ -e web/large ] || head -c 5000000 /dev/urandom > web/large
	[ -e web/small ] || head -c 100 /dev/urandom > web/small
	cat > nginx.conf << END
daemon off;
user root;
worker_processes 2;
pid $PWD/nginx.pid;
error_log $PWD/nginx-error.log notice;
events { worker_connections 256; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 100000;
	client_body_temp_path $PWD/nginx-body;
	proxy_temp_path $PWD/nginx-proxy;
	fastcgi_temp_path $PWD/nginx-fastcgi;
	uwsgi_temp_path $PWD/nginx-uwsgi;
	scgi_temp_path $PWD/nginx-scgi;
	server { listen $at:8080 backlog=128; root $PWD/web; }
	server { listen $at:8082; location / { proxy_pass http://$at:8080; } }
}
END
	background nginx 8080 nginx -c "$PWD/nginx.conf"
	for i in 1 2 3; do
		quietly curl -sS -o copy "http://$at:8080/large"
		cmp copy web/large && echo "nginx: large file $i"
		quietly curl -sS -o copy "http://$at:8082/large"
		cmp copy web/large && echo "nginx: proxy $i"
	done
	quietly curl -sS -o copy -r 1000-1999 "http://$at:8080/large"
	cmp copy <(tail -c +1001 web/large | head -c 1000) && echo "nginx: range"
	quietly curl -sS -w '%{http_code}\n' -o /dev/null "http://$at:8080/none"
	echo "nginx: none $(cat client.log)"
	! have wrk || wrk_at 8080
	! have haproxy || proxy
	stop nginx QUIT
	echo "nginx: ends"
}

wrk_at() {
	quietly wrk -t 2 -c 20 -d 3 --timeout 60s "http://$at:$1/small"
	grep 'requests in' client.log >&2
	echo "wrk at $1: $(grep -E 'Socket errors|Non-2xx' client.log || echo "no errors")"
}

proxy() {
	cat > haproxy.cfg << END
global
	maxconn 200
defaults
	mode http
	timeout connect 5s
	timeout client 20s
	timeout server 20s
frontend http
	bind $at:8081
	default_backend web
backend web
	server one $at:8080 check inter 200
listen raw
	mode tcp
	bind $at:8083
	server one $at:8080
END
	background haproxy 8081 haproxy -db -f haproxy.cfg
	for i in 8081 8083; do
		quietly curl -sS -o copy "http://$at:$i/large"
		cmp copy web/large && echo "haproxy: port $i"
		! have wrk || wrk_at "$i"
	done
	stop haproxy
}

cache() {
	cat > cache.py << 'END'
import socket, sys, threading
def client(number):
    sock = socket.create_connection((sys.argv[1], 11211))
    stream = sock.makefile("rwb")
    for i in range(50):
        value = bytes([number]) * (i * 97 + 1)
        stream.write(b"set k%d-%d 0 0 %d\r\n%s\r\n" % (number, i, len(value), value))
        stream.flush()
        assert stream.readline() == b"STORED\r\n"
    stream.write(b"".join(b"get k%d-%d\r\n" % (number, i) for i in range(50)))
    stream.flush()
    for i in range(50):
        assert stream.readline().startswith(b"VALUE")
        assert stream.read(i * 97 + 3) == bytes([number]) * (i * 97 + 1) + b"\r\n"
        assert stream.readline() == b"END\r\n"
    done.append(number)
done = []
threads = [threading.Thread(target=client, args=(i,)) for i in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(done) == 8
END
	background memcached 11211 memcached -u root -l "$at" -p 11211 -U 0 -t 4
	quietly python3 cache.py "$at"
	echo "memcached: values are those that were set"
	stop memcached
}

files() {
	cat > rsyncd.conf << END
use chroot = no
uid = root
gid = root
[files]
	path = $PWD/from
	read only = no
END
	if [ ! -e from ]; then
		mkdir from
		cp -r /usr/include/linux from/
	fi
	background rsync 8730 rsync --daemon --no-detach --config=rsyncd.conf --port=8730 --address="$at"
	rm -rf to
	quietly rsync -a "rsync://$at:8730/files/" to
	diff -r from to && echo "rsync: from the server"
	echo more >> "$(find to -type f -print -quit)"
	quietly rsync -a --checksum to/ "rsync://$at:8730/files/"
	diff -r from to && echo "rsync: to the server"
	stop rsync
}

store() {
	background redis 6379 redis-server --port 6379 --bind "$at" --protected-mode no --save '' --dir "$PWD"
	quietly redis-cli -h "$at" set key value
	quietly redis-cli -h "$at" get key
	echo "redis: $(cat client.log)"
	quietly redis-benchmark -h "$at" -q -n 2000 -c 20 -t set,get,incr,lpush,lrange_100 -d 300
	echo "redis: $(tr '\r' '\n' < client.log | grep -c 'requests per second') commands"
	quietly redis-benchmark -h "$at" -q -n 2000 -c 20 -P 16 -t set,get --threads 2
	quietly redis-cli -h "$at" info stats
	echo "redis: $(grep -E '^total_error_replies' client.log | tr -d '\r')"
	# a replica: the server is a client
	background replica 6380 redis-server --port 6380 --bind "$at" --protected-mode no --save '' --dir "$PWD" \
		--replicaof "$at" 6379
	wait_for 30 replica_has key value || { cat replica.log; fail "no replica"; }
	echo "redis: the replica has it"
	stop replica
	stop redis
}
replica_has() { [ "$("${client_in[@]}" "${by[@]}" redis-cli -h "$at" -p 6380 get "$1")" = "$2" ]; }

postgres=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
as_postgres() { (cd / && setpriv --reuid postgres --regid postgres --clear-groups "$@"); }
database() {
	if [ ! -e pg.made ]; then
		# the guest's /tmp may show the host's
		rm -rf /tmp/pg
		install -d -o postgres -m 700 /tmp/pg
		as_postgres "$postgres/initdb" -D /tmp/pg -A trust --no-sync -E UTF8 --locale C > initdb.log 2>&1 ||
			{ cat initdb.log; fail "initdb"; }
		echo 'host all all all trust' >> /tmp/pg/pg_hba.conf
		touch pg.made
	fi
	background postgres 5433 setpriv --reuid postgres --regid postgres --clear-groups "$postgres/postgres" \
		-D /tmp/pg -p 5433 -h "$at" -k '' -F
	wait_for 60 "${client_in[@]}" "${by[@]}" "$postgres/psql" -h "$at" -p 5433 -U postgres -c 'select 1' postgres ||
		{ cat postgres.log; fail "no answer"; }
	quietly "$postgres/psql" -h "$at" -p 5433 -U postgres -At -c 'select sum(i), md5(string_agg(i::text, $$,$$)) from generate_series(1, 50000) i' postgres
	echo "PostgreSQL: $(cat client.log)"
	quietly "$postgres/pgbench" -h "$at" -p 5433 -U postgres -i -q -s 1 postgres
	quietly "$postgres/pgbench" -h "$at" -p 5433 -U postgres -c 4 -j 2 -t 20 -C postgres
	echo "PostgreSQL: $(grep -E '^number of (transactions actually|failed)' client.log | tr '\n' ' ')"
	# a query that is cancelled, by another connection
	quietly bash -c "$postgres/psql -h $at -p 5433 -U postgres -c 'set statement_timeout = 300; select pg_sleep(60)' postgres 2>&1 | grep -c 'canceling statement'"
	echo "PostgreSQL: cancelled $(cat client.log)"
	stop postgres INT
}

transfers() {
	local active
	if [ ! -e ftp.made ]; then
		rm -rf /tmp/ftp /tmp/ftp-empty
		install -d -m 755 /tmp/ftp /tmp/ftp-empty
		install -d -o ftp /tmp/ftp/in
		head -c 3000000 /dev/urandom > /tmp/ftp/large
		seq 1000 > /tmp/ftp/small
		touch ftp.made
	fi
	cat > vsftpd.conf << END
listen=YES
background=NO
listen_address=$at
listen_port=2100
anonymous_enable=YES
anon_root=/tmp/ftp
write_enable=YES
anon_upload_enable=YES
anon_umask=022
anon_other_write_enable=YES
secure_chroot_dir=/tmp/ftp-empty
async_abor_enable=YES
log_ftp_protocol=YES
xferlog_enable=YES
xferlog_std_format=NO
vsftpd_log_file=$PWD/vsftpd-protocol.log
seccomp_sandbox=NO
isolate=NO
isolate_network=NO
END
	background vsftpd 2100 vsftpd "$PWD/vsftpd.conf"
	for active in off on; do
		rm -f large small
		quietly lftp -c "set net:max-retries 1; set net:timeout 60; set xfer:clobber on
			set ftp:passive-mode $active; open ftp://$at:2100; get large; get small
			put -O in large -o up$active; cls -1 in"
		cmp large /tmp/ftp/large && cmp small /tmp/ftp/small && cmp large "/tmp/ftp/in/up$active" &&
			echo "vsftpd: passive $active: $(grep -c . client.log) uploads"
	done
	# lftp ends a transfer with ABOR as urgent data, and continues with the same connection
	: > vsftpd-protocol.log
	quietly lftp -c "set net:max-retries 1; set net:timeout 60; set ftp:use-abor on; set ftp:abor-max-wait 30
		set net:limit-rate 200000; open ftp://$at:2100; cat large | head -c 1000 > part
		set net:limit-rate 0; cat small > after"
	cmp after /tmp/ftp/small && echo "vsftpd: after an ABOR, $(stat -c %s part) bytes before it"
	grep -q 'FTP command:.*"ABOR"' vsftpd-protocol.log && echo "vsftpd: ABOR arrived"
	rm -rf /tmp/ftp/in/*
	stop vsftpd
}

# one after the other: a case may want to see what each has used
one_program() { "$@"; }
common_programs() {
	one_program web
	! have memcached || one_program cache
	! have rsync || one_program files
	! have redis-server || one_program store
	! have "$postgres/postgres" || one_program database
	! have vsftpd || one_program transfers
}

# a case may add some
mode_results() { common_programs; }

# results MODE: in MODE.results; the same as on TCP
results() {
	say "$1"
	# a failure's report is among the results
	trap 'cat "$mode.results" >&2' EXIT
	mode=$1
	mode_results > "$1.results"
	trap - EXIT
	cat "$1.results"
	diff tcp.results "$1.results" > differences ||
		fail "$1: other results than on TCP: $(grep '^[<>]' differences | head -4 | paste -sd ';')"
}

# left_out PROGRAM...: those that are not installed
left_out() {
	local program
	for program; do
		have "$program" || say "left out: $program is not there"
	done
}
