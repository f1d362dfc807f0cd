#!/bin/sh
# Removes what a cluster of nodes leaves once its processes are gone: $1 its folder, $2 the prefix of its cgroups.
tries=400
while [ $tries -gt 0 ]; do
  # The kernel frees a cgroup a moment after its last process.
  find /sys/fs/cgroup/*/"$2"* -depth -type d -exec rmdir {} + 2>/dev/null
  [ -z "$(find /sys/fs/cgroup/ -maxdepth 2 -name "$2*" 2>/dev/null)" ] && break
  tries=$((tries - 1))
  sleep 0.05
done
rm -rf "$1"
