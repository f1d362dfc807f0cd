//go:build tools

// Package tools pins what `go build go.etcd.io/etcd/etcdutl/v3` needs.
package tools

import _ "go.etcd.io/etcd/etcdutl/v3"
