//go:build tools

// Package tools pins what `go build k8s.io/kubernetes/cmd/...` needs for the programs of a node.
package tools

import (
	_ "k8s.io/kubernetes/cmd/kube-proxy"
	_ "k8s.io/kubernetes/cmd/kube-scheduler"
	_ "k8s.io/kubernetes/cmd/kubelet"
)
