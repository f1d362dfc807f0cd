{{/* Names, labels and lists that several templates use. */}}

{{- define "cupola.labels" -}}
app.kubernetes.io/name: cupola
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "cupola.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* The version of the kinds, which never goes back (crds/kind-version-policy.ts): the chart's three numbers. */}}
{{- define "cupola.schemaVersion" -}}
{{- $version := semver .Chart.Version -}}
{{- printf "%d.%d.%d" $version.Major $version.Minor $version.Patch -}}
{{- end }}

{{/* "true" for a cluster that runs what a hub makes there. An upgrade with --reuse-values from a release without the value has none. */}}
{{- define "cupola.isSpoke" -}}
{{- if eq (.Values.mode | default "hub") "spoke" }}true{{ end -}}
{{- end }}

{{/* "true" for a spoke whose agent calls the hub. An upgrade with --reuse-values from a release without the values has none. */}}
{{- define "cupola.callsHub" -}}
{{- if and (include "cupola.isSpoke" .) ((.Values.agent).hub).url }}true{{ end -}}
{{- end }}

{{/* "true" where the SSH proxy runs. An upgrade with --reuse-values from a release without the value has none. */}}
{{- define "cupola.hasSSH" -}}
{{- if and (.Values.ssh).enabled (not (include "cupola.isSpoke" .)) }}true{{ end -}}
{{- end }}

{{/* "true" where the proxy of route services runs. */}}
{{- define "cupola.hasRouteServices" -}}
{{- if and (.Values.routeServices).enabled (not (include "cupola.isSpoke" .)) }}true{{ end -}}
{{- end }}

{{/* "true" where names of internal domains are served. */}}
{{- define "cupola.hasInternalDNS" -}}
{{- if and (get .Values.routers "internal-dns" | default dict).enabled (not (include "cupola.isSpoke" .)) }}true{{ end -}}
{{- end }}

{{- define "cupola.sshAddress" -}}
{{- .Values.ssh.address | default (printf "%s:%d" (urlParse .Values.api.publicUrl).hostname (int .Values.ssh.service.port)) -}}
{{- end }}

{{/* The kinds of a spoke (crds/spoke-manifests.ts), as a JSON list. */}}
{{- define "cupola.spokeKinds" -}}
{{- list "lrps.workloads.cupola.dev" "taskruns.workloads.cupola.dev" "routebindings.workloads.cupola.dev" "backendclasses.workloads.cupola.dev" "replicas.cupola.dev" | toJson -}}
{{- end }}

{{/* The Deployments by name, each with the operations of its processes, as a JSON list. */}}
{{- define "cupola.components" -}}
{{- $backends := list -}}
{{- $isSpoke := include "cupola.isSpoke" . -}}
{{- if and (not $isSpoke) .Values.builders.cnb.enabled }}{{ $backends = append $backends "cnb-builder" }}{{ end -}}
{{- if .Values.runners.deployment.enabled }}{{ $backends = append $backends "deployment-runner" }}{{ end -}}
{{- if .Values.runners.statefulset.enabled }}{{ $backends = append $backends "statefulset-runner" }}{{ end -}}
{{- if .Values.taskRunners.job.enabled }}{{ $backends = append $backends "job-runner" }}{{ end -}}
{{- if .Values.routers.ingress.enabled }}{{ $backends = append $backends "ingress-router" }}{{ end -}}
{{- if .Values.routers.gateway.enabled }}{{ $backends = append $backends "gateway-router" }}{{ end -}}
{{- if and (not $isSpoke) (.Values.dnsRecords).enabled }}{{ $backends = append $backends "dns-records" }}{{ end -}}
{{- $components := list
  (dict "name" "api" "operations" (list "api"))
  (dict "name" "controllers" "operations" (concat (list "controllers") $backends))
  (dict "name" "policies" "operations" (list "policies"))
  (dict "name" "logs" "operations" (list "logs" "log-drains"))
  (dict "name" "webhook" "operations" (list "webhook")) -}}
{{- if $isSpoke -}}
{{- $components = list
  (dict "name" "agent" "operations" (concat (list "agent") $backends))
  (dict "name" "logs" "operations" (list "logs" "hub-logs")) -}}
{{- end -}}
{{- if include "cupola.hasSSH" . -}}
{{- $components = append $components (dict "name" "ssh-proxy" "operations" (list "ssh-proxy")) -}}
{{- end -}}
{{- if include "cupola.hasRouteServices" . -}}
{{- $components = append $components (dict "name" "route-service" "operations" (list "route-service")) -}}
{{- end -}}
{{- if include "cupola.hasInternalDNS" . -}}
{{- $components = append $components (dict "name" "internal-dns" "operations" (list "internal-dns")) -}}
{{- end -}}
{{- if .Values.runners.deployment.enabled -}}
{{- $components = append $components (dict "name" "instance-index" "operations" (list "instance-index")) -}}
{{- end -}}
{{- $components | toJson -}}
{{- end }}

{{- define "cupola.registrySecret" -}}
{{- if .Values.registry.secretName }}{{ .Values.registry.secretName }}{{ else if .Values.registry.username }}cupola-registry-push{{ end -}}
{{- end }}

{{/* A Secret with the login of one registry. Arguments: root, name, login. */}}
{{- define "cupola.registryLogin" -}}
{{- $host := first (splitList "/" .root.Values.registry.prefix) -}}
{{- $login := dict "username" .login.username "password" .login.password "auth" (printf "%s:%s" .login.username .login.password | b64enc) -}}
apiVersion: v1
kind: Secret
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "cupola.labels" .root | nindent 4 }}
type: kubernetes.io/dockerconfigjson
data:
  .dockerconfigjson: {{ dict "auths" (dict $host $login) | toJson | b64enc }}
{{- end }}

{{/* The values' own win. */}}
{{- define "cupola.apiServiceAnnotations" -}}
{{- $annotations := dict -}}
{{- if and .Values.api.ingress.enabled (.Values.api.ingress.traefik).enabled -}}
{{- $_ := set $annotations "traefik.ingress.kubernetes.io/service.serversscheme" "https" -}}
{{- $_ := set $annotations "traefik.ingress.kubernetes.io/service.serverstransport" (printf "%s-cupola-api@kubernetescrd" .Release.Namespace) -}}
{{- end -}}
{{- merge (deepCopy .Values.api.service.annotations) $annotations | toYaml -}}
{{- end }}

{{- define "cupola.apiTlsSecret" -}}
{{ .Values.api.tls.secretName | default "cupola-api-tls" }}
{{- end }}

{{/* Pod Security "restricted", and a root that cannot be written. */}}
{{- define "cupola.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "cupola.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{/* A certificate that is made once: the Secret's own while it exists. Arguments: root, name of the Secret, names of the host. */}}
{{- define "cupola.certificate" -}}
{{- $found := lookup "v1" "Secret" .root.Release.Namespace .secret -}}
{{- $data := dict -}}
{{- if and $found $found.data -}}
{{- $data = $found.data -}}
{{- else -}}
{{- $made := genSelfSignedCert (first .hosts) (list "127.0.0.1") .hosts 3650 -}}
{{- $data = dict "tls.crt" (b64enc $made.Cert) "tls.key" (b64enc $made.Key) -}}
{{- end -}}
apiVersion: v1
kind: Secret
metadata:
  name: {{ .secret }}
  namespace: {{ .root.Release.Namespace }}
  labels: {{- include "cupola.labels" .root | nindent 4 }}
type: kubernetes.io/tls
data:
  tls.crt: {{ index $data "tls.crt" }}
  tls.key: {{ index $data "tls.key" }}
  {{- /* It is its own authority: what an ingress controller is told to trust. */}}
  ca.crt: {{ index $data "tls.crt" }}
{{- end }}

{{- /* Ports of the platform's containers. The webhook's is the platform's own (platform/cupola-options.ts). */}}
{{- define "cupola.port" }}8443{{ end }}
{{- define "cupola.webhookPort" }}9443{{ end }}
{{- define "cupola.metricsPort" }}8444{{ end }}
{{- define "cupola.sshPort" }}2222{{ end }}
{{- /* Also in crds/route-service-proxy.ts. */}}
{{- define "cupola.routeServicePort" }}8080{{ end }}
{{- define "cupola.internalDNSPort" }}5353{{ end }}

{{/* Names under which clients reach the API, as a list in YAML. */}}
{{- define "cupola.apiHosts" -}}
{{- prepend .Values.api.tokenLogin.hosts (urlParse .Values.api.publicUrl).hostname | uniq | toYaml }}
{{- end }}
