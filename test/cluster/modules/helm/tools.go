//go:build tools

// Package tools pins what `go build helm.sh/helm/v4/cmd/helm` needs.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
