//go:build tools

// Package tools pins what `go build github.com/traefik/traefik/v3/cmd/traefik` needs.
package tools

import _ "github.com/traefik/traefik/v3/cmd/traefik"
