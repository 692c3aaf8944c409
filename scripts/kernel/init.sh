#!/bin/busybox sh
# The guest's first process: brings up two Soft-RoCE devices that reach each other, runs /run.sh and
# ends the machine. Only a write to port 0xf4 is a pass; poweroff and panic end otherwise.
/bin/busybox mkdir -p /proc /sys /dev /tmp /bin /sbin /etc
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs devtmpfs /dev
/bin/busybox --install -s /bin
export PATH=/opt/bin:/usr/bin:/bin:/sbin HOME=/tmp LD_LIBRARY_PATH=/lib64
chmod 1777 /tmp

ends() { # with a word on the console
  echo "$1"
  poweroff -f
}

for module in $(cat /modules/order); do
  insmod "/modules/$module.ko" || ends "guest: cannot load $module"
done
ip=/opt/bin/ip
$ip link set lo up
$ip link add veth0 type veth peer name veth1 || ends "guest: no veth"
$ip addr add 10.77.0.1/24 dev veth0
$ip addr add 10.77.0.2/24 dev veth1
for name in veth0 veth1; do
  # Both ends are of this machine: without this the kernel drops what one sends the other.
  echo 1 >/proc/sys/net/ipv4/conf/$name/accept_local
  echo 0 >/proc/sys/net/ipv4/conf/$name/rp_filter
  $ip link set $name up
done
echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
rdma link add rxe0 type rxe netdev veth0 || ends "guest: no Soft-RoCE on veth0"
rdma link add rxe1 type rxe netdev veth1 || ends "guest: no Soft-RoCE on veth1"
echo "guest: $(uname -r) is up after $(cut -d' ' -f1 /proc/uptime) s"

if sh /run.sh; then
  echo "guest: passed"
  printf '\020' | dd of=/dev/port bs=1 seek=244 count=1 conv=notrunc 2>/dev/null
fi
ends "guest: not passed"
