# Hosts in one machine: network namespaces on one bridge. Sourced by scripts that need several hosts.
#
#   hosts_make COUNT     makes them: $hosts has their names; $hosts_why says why not, where that fails
#   hosts_place FILE     writes a script that runs a rank's program in the namespace of its host: rank r in host r mod COUNT
#   hosts_cut NUMBER     takes a host (from 0) off the bridge; hosts_mend puts it back
#   hosts_remove         removes all of it; call it on exit
#
# Host i is 10.213.7.(i+1) and fd00:213::(i+1). Each also has a bridge "docker0" with the same address everywhere, which
# leads to no other host. The congestion control is cubic, or reno where that is not allowed (hosts_control tells).

hosts=()
hosts_why=
hosts_hub=alhena-$$-hub

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
    done
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

hosts_place() { # FILE
    {
        echo '#!/bin/sh'
        echo "case \$((PMI_RANK % ${#hosts[@]})) in"
        for i in "${!hosts[@]}"; do echo "$i) host=${hosts[i]} ;;"; done
        echo 'esac'
        echo 'exec ip netns exec "$host" "$@"'
    } > "$1"
    chmod +x "$1"
}

hosts_control() { ip netns exec "${hosts[0]}" sysctl -n net.ipv4.tcp_congestion_control; }
hosts_cut() { ip -n "$hosts_hub" link set "v$1" nomaster; } # NUMBER
hosts_mend() { ip -n "$hosts_hub" link set "v$1" master hub; } # NUMBER

hosts_remove() {
    local name
    for name in "${hosts[@]}" "$hosts_hub"; do
        ip netns delete "$name" 2> /dev/null
    done
}
