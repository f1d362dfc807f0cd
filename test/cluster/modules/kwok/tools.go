//go:build tools

// Package tools pins what `go build sigs.k8s.io/kwok/cmd/kwok` needs.
package tools

import _ "sigs.k8s.io/kwok/cmd/kwok"
