#!/bin/sh
# PID 1 of a node: makes its mounts, then reaps what the others leave. $1 is the node's folder, $2 its host name.
set -eu
dir=$1
echo "$2" >/proc/sys/kernel/hostname
mkdir -p "$dir/cgroup" "$dir/var" "$dir/var-work" "$dir/sysctl" "$dir/tmp"
mount -t proc proc /proc

# The sysfs of this network, with the machine's cgroups in it.
mount --rbind /sys/fs/cgroup "$dir/cgroup"
mount -t sysfs sysfs /sys
mount --rbind "$dir/cgroup" /sys/fs/cgroup
umount -l "$dir/cgroup"

# Sockets, pod logs and CNI state have fixed places; nothing of them reaches the machine.
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p /run/lock /run/netns
mount -t overlay -o "lowerdir=/var,upperdir=$dir/var,workdir=$dir/var-work" overlay /var

# Kubelet and containerd share mounts with containers. Earlier than the moves above it would hide the cgroups from runc.
mount --make-rshared /

# Kubelet insists on three settings of the whole machine: it sees its values, and the machine keeps its own.
for setting in vm/overcommit_memory=1 kernel/panic=10 kernel/panic_on_oops=1; do
  file=$dir/sysctl/$(basename "${setting%=*}")
  echo "${setting#*=}" >"$file"
  mount --bind "$file" "/proc/sys/${setting%=*}"
done

echo 1 >/proc/sys/net/ipv4/ip_forward
touch "$dir/ready"
while :; do
  sleep 3600 &
  wait $!
done
