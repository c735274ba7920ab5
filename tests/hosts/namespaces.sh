# Hosts in one machine: namespaces of all kinds but that of users, on one bridge. Sourced by scripts that need several hosts.
#
#   hosts_make COUNT     makes them: $hosts has the names of their network namespaces, and they call themselves h0, h1, …;
#                        $hosts_why is the reason, where that fails
#   hosts_launcher FILE  writes a script that does what ssh would: `FILE h1 command…` runs the command on host h1
#   hosts_on NUMBER …    runs a command on a host (from 0), with this shell's environment
#   hosts_cut NUMBER     takes a host (from 0) off the bridge, in silence; hosts_mend puts it back
#   hosts_second         gives each host a second network, of addresses 10.213.8.(i+1); hosts_third a third one, 10.213.6.(i+1)
#   hosts_slow RATE INTERFACE…   limits what each host sends over these interfaces, in the words of tc: 500mbit; none: no longer
#   hosts_cut_second NUMBER   takes a host off that one alone; hosts_mend_second puts it back
#   hosts_lose PERMILLE [INTERFACE…]   has each host lose so many of a thousand packets (0: none) of the networks of these interfaces,
#                        by default those of the two above and below; needs nft
#   hosts_far ARGUMENT…  gives each host a network of addresses 10.213.9.(i+1) that delays packets, each a little longer or
#                        shorter, so that some overtake others: relay.py with these arguments. Ends with hosts_remove
#   hosts_remove         removes all of it; call it on exit
#
# Host i is 10.213.7.(i+1) and fd00:213::(i+1). Each also has a bridge "docker0" with the same address everywhere, which
# leads to no other host. The congestion control is cubic, or reno where that is not allowed (hosts_control).

hosts=()
hosts_pids=()
hosts_why=
hosts_hub=alhena-$$-hub
hosts_relay=
hosts_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

hosts_make() { # COUNT
    local i name
    [ "$(id -u)" = 0 ] || { hosts_why="not root"; return 1; }
    hosts_why=$(
        exec 2>&1
        ip netns add "$hosts_hub" &&
            ip -n "$hosts_hub" link add hub type bridge &&
            ip -n "$hosts_hub" link set hub up
    ) || return 1
    for ((i = 0; i < $1; i++)); do
        name=alhena-$$-$i
        hosts+=("$name")
        hosts_why=$(exec 2>&1; hosts_make_one "$name" "$i") || return 1
        hosts_hold "$name" "h$i" || return 1
    done
}

# Holds the namespaces of a host: its first process, which reaps what is left behind there. Host 0, where mpiexec runs,
# keeps this shell's processes and files, because no process enters another process namespace.
hosts_hold() { # NETWORK-NAMESPACE HOSTNAME
    local holder pid= kinds="--mount --pid --mount-proc"
    [ "$2" != h0 ] || kinds=
    # shellcheck disable=SC2016,SC2086
    ip netns exec "$1" unshare $kinds --uts --ipc --fork sh -c '
        hostname "$1"
        [ "$1" != h0 ] || exec sleep infinity
        mount -t tmpfs tmpfs /dev/shm
        trap exit TERM
        while :; do sleep 3600 & wait $!; done' sh "$2" < /dev/null > /dev/null 2>&1 &
    holder=$!
    disown $holder
    for _ in $(seq 100); do
        pid=$(cat "/proc/$holder/task/$holder/children" 2> /dev/null)
        [ -n "$pid" ] && [ "$(nsenter -u -t "${pid% }" hostname 2> /dev/null)" = "$2" ] && break
        sleep 0.02
    done
    [ -n "$pid" ] || { hosts_why="no process namespace for $2"; return 1; }
    hosts_pids+=("${pid% }")
}

hosts_on() { # NUMBER COMMAND…
    local number=$1; shift
    nsenter $(hosts_kinds "$number") -t "${hosts_pids[number]}" -- "$@"
}

hosts_kinds() { if [ "$1" = 0 ]; then echo "--net --uts --ipc"; else echo "--mount --net --uts --ipc --pid"; fi; }

hosts_launcher() { # FILE
    {
        echo '#!/bin/sh'
        echo 'while :; do case $1 in -o) shift 2 ;; -*) shift ;; *) break ;; esac; done'
        echo 'host=$1; shift'
        echo 'case $host in'
        for i in "${!hosts[@]}"; do echo "h$i|10.213.7.$((i + 1))) enter='$(hosts_kinds $i) -t ${hosts_pids[i]}' ;;"; done
        echo '*) echo "stub: Could not resolve hostname $host" >&2; exit 255 ;;'
        echo 'esac'
        echo 'exec nsenter $enter -- env -i HOME="$HOME" PATH=/usr/bin:/bin sh -c "cd; exec $*"'
    } > "$1"
    chmod +x "$1"
}

hosts_make_one() { # NAME NUMBER
    local at="ip -n $1" number=$(($2 + 1))
    ip netns add "$1" &&
        ip link add "v$2" netns "$hosts_hub" type veth peer name eth0 netns "$1" &&
        ip -n "$hosts_hub" link set "v$2" master hub up &&
        $at link set lo up &&
        $at address add "10.213.7.$number/24" dev eth0 &&
        $at address add "fd00:213::$number/64" dev eth0 nodad &&
        $at link set eth0 up &&
        $at link add docker0 type bridge &&
        $at address add 172.17.0.1/16 dev docker0 &&
        $at link set docker0 up &&
        # The default, BBR on some kernels, paces by timers. Not every namespace may choose cubic.
        { ip netns exec "$1" sysctl -q net.ipv4.tcp_congestion_control=cubic 2> /dev/null ||
            ip netns exec "$1" sysctl -q net.ipv4.tcp_congestion_control=reno; }
}

hosts_control() { ip netns exec "${hosts[0]}" sysctl -n net.ipv4.tcp_congestion_control; }
hosts_cut() { ip -n "$hosts_hub" link set "v$1" nomaster; } # NUMBER
hosts_mend() { ip -n "$hosts_hub" link set "v$1" master hub; } # NUMBER

hosts_second() { hosts_network hub2 w eth1 10.213.8; }
hosts_third() { hosts_network hub3 x eth2 10.213.6; }

hosts_network() { # BRIDGE END INTERFACE ADDRESSES
    local i
    ip -n "$hosts_hub" link add "$1" type bridge && ip -n "$hosts_hub" link set "$1" up || return 1
    for i in "${!hosts[@]}"; do
        ip link add "$2$i" netns "$hosts_hub" type veth peer name "$3" netns "${hosts[i]}" &&
            ip -n "$hosts_hub" link set "$2$i" master "$1" up &&
            ip -n "${hosts[i]}" address add "$4.$((i + 1))/24" dev "$3" &&
            ip -n "${hosts[i]}" link set "$3" up || return 1
        hosts_sends_again "${hosts[i]}" "$4.0/24" "$3"
    done
}

# A lost packet goes again after 10 ms instead of 200: else a program that sends one packet at a time mostly waits.
hosts_sends_again() { # NAMESPACE NETWORK INTERFACE
    ip -n "$1" route change "$2" dev "$3" proto kernel scope link rto_min 10ms
}

hosts_slow() { # RATE INTERFACE…
    local name interface rate=$1; shift
    for name in "${hosts[@]}"; do
        for interface in "$@"; do
            if [ "$rate" = none ]; then
                ip netns exec "$name" tc qdisc delete dev "$interface" root || return 1
            else
                ip netns exec "$name" tc qdisc replace dev "$interface" root tbf rate "$rate" burst 256k latency 50ms || return 1
            fi
        done
    done
}

hosts_cut_second() { ip -n "$hosts_hub" link set "w$1" nomaster; } # NUMBER
hosts_mend_second() { ip -n "$hosts_hub" link set "w$1" master hub2; } # NUMBER

hosts_lose() { # PERMILLE [INTERFACE…]
    local name permille=$1 interfaces; shift
    [ $# != 0 ] || set -- eth1 far0
    interfaces=$(printf '"%s", ' "$@")
    # A drop at the receiver, since one at the sender is an error there.
    for name in "${hosts[@]}"; do
        ip netns exec "$name" nft -f - <<- END || return 1
			table inet alhena
			delete table inet alhena
			table inet alhena {
				chain lose {
					type filter hook prerouting priority raw;
					iifname { ${interfaces%, } } numgen random mod 1000 < $permille drop
				}
			}
		END
    done
}

hosts_far() { # RELAY-ARGUMENT…
    local i
    for i in "${!hosts[@]}"; do
        ip -n "${hosts[i]}" tuntap add dev far0 mode tun &&
            ip -n "${hosts[i]}" address add "10.213.9.$((i + 1))/24" dev far0 &&
            ip -n "${hosts[i]}" link set far0 up || return 1
        hosts_sends_again "${hosts[i]}" 10.213.9.0/24 far0
    done
    python3 "$hosts_here/relay.py" "$@" "${hosts[@]}" &
    hosts_relay=$!
    disown $hosts_relay
}

hosts_remove() {
    local name pid
    [ -z "$hosts_relay" ] || kill "$hosts_relay" 2> /dev/null
    hosts_relay=
    for pid in "${hosts_pids[@]}"; do
        # The first process of a process namespace takes all others with it.
        kill -KILL "$pid" 2> /dev/null
    done
    for name in "${hosts[@]}" "$hosts_hub"; do
        ip netns delete "$name" 2> /dev/null
    done
}
