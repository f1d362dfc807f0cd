//go:build tools

// Package tools pins what `go build sigs.k8s.io/metrics-server/cmd/metrics-server` needs.
package tools

import _ "sigs.k8s.io/metrics-server/cmd/metrics-server"
