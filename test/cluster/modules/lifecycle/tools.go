//go:build tools

// Package tools pins what `go build github.com/buildpacks/lifecycle/cmd/...` needs.
package tools

import (
	_ "github.com/buildpacks/lifecycle/cmd/launcher"
	_ "github.com/buildpacks/lifecycle/cmd/lifecycle"
)
