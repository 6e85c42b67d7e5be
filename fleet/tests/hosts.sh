#!/usr/bin/env bash
# Starts or stops hosts for a test of fleet/ansible, on this machine:
#
#   hosts.sh start DIRECTORY NAME...
#   hosts.sh unplug DIRECTORY NAME     # takes its network link down
#   hosts.sh plug DIRECTORY NAME
#   hosts.sh stop DIRECTORY
#
# Each host has a separate network namespace, joined to the others by a bridge, its own process
# namespace with systemd and an sshd, and its own writable copy of this machine's files (an overlay
# in memory). Nothing that happens on a host changes this machine.
#
# DIRECTORY then contains `inventory.ini`, with the ordinary user `bench` of each host, who may use
# sudo. The host at the bridge's other end, this machine, is 10.213.0.1.
#
# `flushmark emulate --mount` works on a host. `stop` detaches the loop devices of drives that still
# run there; stop them before if what they lose matters.
#
# Needs root, and iproute2, util-linux, systemd, dbus, openssh-server, openssh-client, sudo and
# python3 (Debian: /usr/bin/python3, and python3-apt for .deb packages).
set -euo pipefail

bridge=fleetbr
network=10.213.0

say_missing() {
    for program in "$@"; do
        command -v "$program" >/dev/null || {
            echo "hosts.sh needs $program" >&2
            exit 2
        }
    done
}

# Runs as the first process of a host until systemd takes its place.
run_host() {
    local directory=$1 name=$2 root=$1/$2/root
    mount --make-rprivate /
    mount -t overlay overlay "$root" \
        -o "lowerdir=/,upperdir=$directory/$name/upper,workdir=$directory/$name/work"
    mount -t proc proc "$root/proc"
    mount -t sysfs sysfs "$root/sys"
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
    mount -t tmpfs -o mode=755 tmpfs "$root/run"
    mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    local device
    for device in null zero full random urandom tty fuse loop-control; do
        touch "$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    # For emulated drives. The kernel has one set of loop devices for all hosts.
    for device in $(seq 0 99); do
        mknod -m 660 "$root/dev/loop$device" b 7 "$device"
    done
    mkdir "$root/dev/pts" "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
    hostname "$name"
    exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        chroot "$root" /lib/systemd/systemd --unit=fleet.target
}

# Fills the writable layer of a host before it is mounted.
write_files() {
    local directory=$1 name=$2 upper=$1/$2/upper
    mkdir -p "$directory/$name"/{root,work} "$upper"/{etc/systemd/system,etc/ssh,etc/sudoers.d,home}
    # The services and mounts of this machine are none of the host's.
    setfattr -n trusted.overlay.opaque -v y "$upper/etc/systemd/system"
    setfattr -n trusted.overlay.opaque -v y "$upper/home"
    : >"$upper/etc/fstab"
    echo "$name" >"$upper/etc/hostname"
    printf '127.0.0.1 localhost\n127.0.1.1 %s\n' "$name" >"$upper/etc/hosts"
    systemd-id128 new >"$upper/etc/machine-id"
    chmod 444 "$upper/etc/machine-id"
    local unit
    for unit in systemd-udevd.service systemd-udev-trigger.service systemd-udevd-control.socket \
        systemd-udevd-kernel.socket systemd-modules-load.service systemd-sysctl.service \
        apparmor.service; do
        ln -s /dev/null "$upper/etc/systemd/system/$unit"
    done
    cat >"$upper/etc/systemd/system/fleet.target" <<END
[Unit]
Requires=basic.target fleet-ssh.service
After=basic.target fleet-ssh.service
AllowIsolate=yes
END
    cat >"$upper/etc/systemd/system/fleet-ssh.service" <<END
[Service]
RuntimeDirectory=sshd
RuntimeDirectoryPreserve=yes
ExecStart=/usr/sbin/sshd -D -e -f /etc/ssh/fleet.conf
END
    ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$upper/etc/ssh/fleet_host_key"
    cat >"$upper/etc/ssh/fleet.conf" <<END
Port 22
HostKey /etc/ssh/fleet_host_key
AuthorizedKeysFile /etc/ssh/fleet_authorized_keys
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
PidFile none
Subsystem sftp internal-sftp
END
    cp "$directory/key.pub" "$upper/etc/ssh/fleet_authorized_keys"
    # `*` instead of `!`: without PAM, sshd refuses users whose password is locked.
    {
        cat /etc/passwd
        echo 'bench:x:4213:4213::/home/bench:/bin/sh'
    } >"$upper/etc/passwd"
    {
        cat /etc/shadow
        echo 'bench:*:19000:0:99999:7:::'
    } >"$upper/etc/shadow"
    chmod 640 "$upper/etc/shadow"
    {
        cat /etc/group
        echo 'bench:x:4213:'
    } >"$upper/etc/group"
    mkdir "$upper/home/bench"
    chown 4213:4213 "$upper/home/bench"
    echo 'bench ALL=(ALL) NOPASSWD: ALL' >"$upper/etc/sudoers.d/bench"
    chmod 440 "$upper/etc/sudoers.d/bench"
}

start() {
    local directory=$1
    shift
    say_missing ip unshare setfattr systemd-id128 ssh-keygen ssh sudo dbus-daemon
    [ -x /usr/sbin/sshd ] || say_missing sshd
    [ "$(id -u)" = 0 ] || {
        echo "hosts.sh needs root" >&2
        exit 2
    }
    mkdir -p "$directory"
    mount -t tmpfs -o mode=755 tmpfs "$directory"
    ssh-keygen -q -t ed25519 -N '' -C fleet -f "$directory/key"
    ip link add "$bridge" type bridge
    ip address add "$network.1/24" dev "$bridge"
    ip link set "$bridge" up

    local number=10 name address cgroups
    cgroups=$(findmnt --noheadings --first-only --output TARGET --types cgroup2)
    {
        echo '[all:vars]'
        echo 'ansible_user=bench'
        echo "ansible_ssh_private_key_file=$directory/key"
        echo "ansible_ssh_common_args=-o UserKnownHostsFile=$directory/known_hosts" \
            "-o ControlPath=$directory/%C -o ConnectTimeout=5 -o ServerAliveInterval=5" \
            "-o ServerAliveCountMax=2"
        echo 'ansible_python_interpreter=/usr/bin/python3'
        echo
        echo '[all]'
    } >"$directory/inventory.ini"
    for name in "$@"; do
        number=$((number + 1))
        address=$network.$number
        write_files "$directory" "$name"
        ip netns add "fleet-$name"
        ip link add "$bridge-$number" type veth peer name eth0 netns "fleet-$name"
        ip link set "$bridge-$number" master "$bridge" up
        echo "$bridge-$number" >"$directory/$name/link"
        ip -n "fleet-$name" link set lo up
        ip -n "fleet-$name" address add "$address/24" dev eth0
        ip -n "fleet-$name" link set eth0 up
        # For systemd, the root of the tree of control groups.
        mkdir "$cgroups/fleet-$name"
        echo "$cgroups/fleet-$name" >"$directory/$name/cgroup"
        # unshare forks: its child is the first process of the host.
        (
            echo "$BASHPID" >"$cgroups/fleet-$name/cgroup.procs"
            exec setsid ip netns exec "fleet-$name" unshare --mount --uts --ipc --pid --cgroup \
                --fork --kill-child -- "$0" run-host "$directory" "$name" \
                >"$directory/$name/log" 2>&1 </dev/null
        ) &
        echo $! >"$directory/$name/pid"
        echo "$address $(cut -d ' ' -f 1,2 "$directory/$name/upper/etc/ssh/fleet_host_key.pub")" \
            >>"$directory/known_hosts"
        echo "$name ansible_host=$address" >>"$directory/inventory.ini"
    done

    for name in "$@"; do
        address=$(sed -n "s/^$name ansible_host=//p" "$directory/inventory.ini")
        local attempt
        for attempt in $(seq 60); do
            if ssh -i "$directory/key" -o UserKnownHostsFile="$directory/known_hosts" \
                -o ConnectTimeout=2 -o BatchMode=yes "bench@$address" true 2>/dev/null; then
                continue 2
            fi
            sleep 0.5
        done
        echo "$name does not answer after $attempt attempts:" >&2
        cat "$directory/$name/log" >&2
        exit 1
    done
}

stop() {
    local directory=$1 name host
    # Also of hosts whose start failed half-way.
    for host in "$directory"/*/; do
        [ -d "$host/upper" ] || continue
        name=$(basename "$host")
        # Of drives that were not stopped. Their names are known only while the host has its mounts.
        local loops
        loops=$(grep --files-with-matches --fixed-strings "$directory/$name/root/" \
            /sys/block/loop*/loop/backing_file 2>/dev/null | cut -d / -f 4 || true)
        if [ -e "$host/pid" ]; then
            local pid
            pid=$(cat "$host/pid")
            # With the first process of a process namespace, all of them end; --kill-child sees to
            # it.
            kill -KILL "$pid" 2>/dev/null || true
            while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
        fi
        # Half-closed connections can keep the namespace, and this link in it, for minutes.
        [ ! -e "$host/link" ] || ip link delete "$(cat "$host/link")" 2>/dev/null || true
        ip netns delete "fleet-$name" 2>/dev/null || true
        if [ -e "$host/cgroup" ]; then
            local cgroup attempt
            cgroup=$(cat "$host/cgroup")
            for attempt in $(seq 50); do
                find "$cgroup" -depth -type d -exec rmdir {} + 2>/dev/null || true
                [ -d "$cgroup" ] || break
                sleep 0.1
            done
            [ ! -d "$cgroup" ] || echo "$cgroup is still there after $attempt attempts" >&2
        fi
        local loop
        for loop in $loops; do
            # The kernel keeps the setting for the device's next user, who would get no flushes.
            echo 'write back' >"/sys/block/$loop/queue/write_cache" || true
            losetup --detach "/dev/$loop" || true
        done
    done
    ip link delete "$bridge" 2>/dev/null || true
    if mountpoint --quiet "$directory"; then
        # Lazily: the SSH connections that Ansible keeps open have their sockets there.
        umount --lazy "$directory"
    fi
    rmdir "$directory" 2>/dev/null || true
}

case ${1:-} in
start | stop)
    "$@"
    ;;
unplug)
    ip link set "$(cat "$2/$3/link")" down
    ;;
plug)
    ip link set "$(cat "$2/$3/link")" up
    ;;
run-host)
    run_host "$2" "$3"
    ;;
*)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
    ;;
esac
