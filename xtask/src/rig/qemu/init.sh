#!/bin/busybox sh
# The guest's first and only process: mounts, modules, then commands from the host until the machine
# ends.
/bin/busybox mkdir -p /bin
for name in $(/bin/busybox --list); do
    [ -e /bin/$name ] || /bin/busybox ln -s busybox /bin/$name
done
export PATH=/bin HOME=/
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /run
# load NAME: loads a module and its dependencies.
cat > /bin/load <<'LOAD'
#!/bin/sh
name=$1; shift
while read module; do
    case $module in
        $name.ko) insmod /modules/$module "$@" ;;
        *) insmod /modules/$module ;;
    esac
done < /modules/$name.order
LOAD
# serials: prints the serial number and device of each drive.
cat > /bin/serials <<'SERIALS'
#!/bin/sh
for disk in /sys/block/[sv]d* /sys/block/nvme*; do
    place=$(readlink -f $disk)
    # Page 80h has four bytes before its text; the last is of a USB device, three levels above its
    # SCSI host.
    for file in $disk/serial $disk/device/serial $disk/device/vpd_pg80 ${place%/*/host*}/serial; do
        case $file in *vpd*) skip=5 ;; *) skip=1 ;; esac
        [ -e $file ] && echo $(tail -c +$skip $file | tr -d '\000-\040') /dev/${disk##*/} && break
    done
done
SERIALS
chmod 755 /bin/load /bin/serials
load boot 2>/dev/null
# Data that must survive a reboot is on the drive with this serial number.
for disk in /sys/block/vd*; do
    if [ "$(cat $disk/serial)" = STATE ]; then
        state=/dev/${disk##*/}
        blkid $state > /dev/null || mkfs.ext4 -q $state
        mount -t ext4 $state /var/lib/flushmark
    fi
done
port=
while [ -z "$port" ]; do
    for name in /sys/class/virtio-ports/*/name; do
        if [ -e "$name" ] && [ "$(cat $name)" = agent ]; then
            port=${name%/name}; port=/dev/${port##*/}
        fi
    done
done
exec 3<> $port
echo ready >&3
# A request is a line with a script in base64; the answer is a line with its exit code and the
# lengths of its outputs, followed by the outputs.
while read -r line <&3; do
    echo "$line" | base64 -d > /run/script
    sh /run/script > /run/stdout 2> /run/stderr < /dev/null 3<&-
    code=$?
    echo "$code $(stat -c %s /run/stdout) $(stat -c %s /run/stderr)" >&3
    cat /run/stdout /run/stderr >&3
done
poweroff -f
