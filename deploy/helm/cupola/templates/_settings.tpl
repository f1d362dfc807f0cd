{{/* Objects of our own kinds that the values describe. */}}
{{- define "cupola.settings" -}}
{{- $isSpoke := include "cupola.isSpoke" . }}
{{- range $role, $classes := dict "builder" (ternary (dict) .Values.builders (eq $isSpoke "true")) "runner" .Values.runners "task-runner" .Values.taskRunners "router" (ternary (omit .Values.routers "internal-dns") .Values.routers (eq $isSpoke "true")) }}
{{- range $name, $class := omit $classes "default" }}
{{- if and $class.enabled (include "cupola.hasClass" (dict "root" $ "name" $name)) }}
---
apiVersion: workloads.cupola.dev/v1alpha1
kind: BackendClass
metadata: { name: {{ $name }} }
spec:
  role: {{ $role }}
  default: {{ eq $name $classes.default }}
  {{- with include "cupola.classParameters" (dict "root" $ "name" $name) | fromJson }}
  parameters: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- else if include "cupola.isInstalledClass" $name }}
---
# Off now, but apps may name it still; nothing new comes to it by default.
apiVersion: workloads.cupola.dev/v1alpha1
kind: BackendClass
metadata: { name: {{ $name }} }
spec:
  role: {{ $role }}
  default: false
{{- end }}
{{- end }}
{{- end }}
{{- if not $isSpoke }}
---
apiVersion: cupola.dev/v1alpha1
kind: Domain
metadata: { name: {{ .Values.apps.domain }}, namespace: {{ .Release.Namespace }} }
spec: { name: {{ .Values.apps.domain }} }
---
apiVersion: cupola.dev/v1alpha1
kind: OrgQuota
metadata: { name: default, namespace: {{ .Release.Namespace }} }
spec: { name: default, default: true }
{{- range $index, $stack := .Values.stacks }}
---
apiVersion: cupola.dev/v1alpha1
kind: Stack
metadata: { name: {{ $stack.name }}, namespace: {{ $.Release.Namespace }} }
spec: { name: {{ $stack.name }}, description: {{ $stack.description | default $stack.name | quote }}, default: {{ eq $index 0 }}{{ with $stack.substitute }}, substitute: {{ . | quote }}{{ end }} }
{{- end }}
{{- end }}
{{- end }}

{{/* "true" unless nothing can come of the class: cnb without a builder image. */}}
{{- define "cupola.hasClass" -}}
{{- if or (ne .name "cnb") .root.Values.builders.cnb.builderImage }}true{{ end -}}
{{- end }}

{{/* "true" when the cluster has a class of this name from an earlier release. */}}
{{- define "cupola.isInstalledClass" -}}
{{- if lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "backendclasses.workloads.cupola.dev" -}}
{{- if lookup "workloads.cupola.dev/v1alpha1" "BackendClass" "" . }}true{{ end -}}
{{- end -}}
{{- end }}

{{- define "cupola.classParameters" -}}
{{- $values := .root.Values -}}
{{- $parameters := dict -}}
{{- if eq .name "cnb" -}}
{{- $_ := set $parameters "builderImage" $values.builders.cnb.builderImage -}}
{{- $_ := set $parameters "platformImage" (include "cupola.image" .root) -}}
{{- $_ := set $parameters "concurrency" ($values.builders.cnb.concurrency | toString) -}}
{{- with $values.builders.cnb.runImage }}{{ $_ := set $parameters "runImage" . }}{{ end -}}
{{- else if has .name (list "deployment" "statefulset") -}}
{{- with (index $values.runners .name).adjustments }}{{ $_ := set $parameters "adjustments.allowed" . }}{{ end -}}
{{- else if eq .name "ingress" -}}
{{- with $values.routers.ingress.className }}{{ $_ := set $parameters "ingressClassName" . }}{{ end -}}
{{- else if eq .name "gateway" -}}
{{- $_ := set $parameters "gatewayName" $values.routers.gateway.name -}}
{{- $_ := set $parameters "gatewayNamespace" $values.routers.gateway.namespace -}}
{{- with $values.routers.gateway.sectionName }}{{ $_ := set $parameters "sectionName" . }}{{ end -}}
{{- with $values.routers.gateway.tcpPorts }}{{ $_ := set $parameters "tcpPorts" . }}{{ end -}}
{{- with $values.routers.gateway.tcpGroup }}{{ $_ := set $parameters "tcpGroup" . }}{{ end -}}
{{- end -}}
{{- with (get $values.routers .name | default dict).addresses }}{{ $_ := set $parameters "addresses" (join "," .) }}{{ end -}}
{{- $parameters | toJson -}}
{{- end }}
