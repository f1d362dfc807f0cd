//go:build tools

// Package tools pins the version of Gatekeeper that `npm run bench -- policy` measures beside ours.
package tools

import _ "github.com/open-policy-agent/gatekeeper/v3"
