# SPDX-License-Identifier: GPL-2.0 OR MIT
# shellcheck shell=bash
# Completion of krdma(1) for bash.

_krdma_rnics() { krdma list 2> /dev/null | awk 'NR > 1 { print $1 }'; }

_krdma_devices() {
	local path
	for path in /sys/class/net/*; do
		echo "${path##*/}"
	done
}

_krdma_rdma_devices() { ls /sys/class/infiniband 2> /dev/null; }

_krdma_units() { systemctl list-unit-files --type=service,socket,slice --no-legend --plain 2> /dev/null | awk '{ print $1 }'; }

# words for "krdma offload", whose commands are $1
_krdma_offload() {
	local words=$1 i

	for ((i = 2; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		add) words='connect listen port use --service --cgroup --user --persist' ;;
		reset) words='connect listen port --service --cgroup --user --end' ;;
		del) words="$(krdma offload list 2> /dev/null | awk 'NR > 1 { print $1 }') --persist" ;;
		flush) words=--persist ;;
		stats) words=--nonzero ;;
		limits) words="$(krdma offload limits 2> /dev/null | awk 'NR > 1 { print $1 }') default" ;;
		list | roads | sockets | load | unload) words='' ;;
		*) continue ;;
		esac
		break
	done
	echo "$words"
}

_krdma() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local commands='list show adopt release link stat resource mib route neigh addr port monitor top ping offload'
	local offload='add del flush list stats roads sockets reset limits load unload'
	local command='' words='' i

	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ " $commands " != *" ${COMP_WORDS[i]} "* ]] || { command=${COMP_WORDS[i]}; break; }
	done
	case $command in
	'') words="$commands --version" ;;
	show) words=$(_krdma_rnics) ;;
	adopt) words="$(_krdma_rdma_devices) --release --default --force --persist --missing-ok --users" ;;
	release) words="$(_krdma_rdma_devices) --persist --missing-ok" ;;
	link) words='add del --name --persist --exist-ok --missing-ok' ;;
	stat) words="$(_krdma_rnics) --nonzero --prometheus" ;;
	mib) words=--nonzero ;;
	route) words='get from oif' ;;
	neigh) words='get dev --resolve --watch' ;;
	monitor) words='link address route rnic --count --timeout' ;;
	top) words='--interval --count --once --qps' ;;
	ping) words='--server --count --size --interval --timeout --quiet --slow --events' ;;
	offload) words=$(_krdma_offload "$offload") ;;
	esac
	case $command:$before in
	route:oif | neigh:dev | link:add) words=$(_krdma_devices) ;;
	link:del) words="$(_krdma_rnics) $(_krdma_devices)" ;;
	offload:use) words="$(krdma offload roads 2> /dev/null | awk 'NR > 1 { print $1 }') any tcp" ;;
	offload:--user | offload:user | offload:uid) words=$(compgen -u) ;;
	offload:--service | offload:service) words=$(_krdma_units) ;;
	offload:load | offload:unload)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
		;;
	offload:--cgroup | offload:cgroup)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -d -- "$word")
		return
		;;
	*:--users) words="$(compgen -g) none" ;;
	*) words="$words --json --help" ;;
	esac
	# not compgen -W, which runs the commands in a name like $(x)
	local - name
	set -f
	COMPREPLY=()
	for name in $words; do
		[[ $name != "$word"* ]] || COMPREPLY+=("$name")
	done
}

complete -F _krdma krdma
