{{/* A hook that runs platform/settings-job.ts. Arguments: root, name, hooks, retries, args. */}}
{{- define "cupola.job" -}}
{{- $ := .root -}}
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ .name }}
  namespace: {{ $.Release.Namespace }}
  labels: {{- include "cupola.labels" $ | nindent 4 }}
  annotations:
    helm.sh/hook: {{ .hooks }}
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  backoffLimit: {{ .retries }}
  activeDeadlineSeconds: 600
  template:
    metadata:
      labels: { app.kubernetes.io/component: settings }
    spec:
      serviceAccountName: cupola-settings
      restartPolicy: Never
      enableServiceLinks: false
      securityContext: {{- include "cupola.podSecurity" $ | nindent 8 }}
      {{- with $.Values.image.pullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: settings
          image: {{ include "cupola.image" $ }}
          imagePullPolicy: {{ $.Values.image.pullPolicy }}
          command: [/usr/bin/node, --disable-warning=ExperimentalWarning, platform/settings-job.ts]
          args: {{- toYaml .args | nindent 12 }}
          resources: {{- toYaml $.Values.resources.settings | nindent 12 }}
          securityContext: {{- include "cupola.containerSecurity" $ | nindent 12 }}
          volumeMounts:
            - { name: settings, mountPath: /etc/cupola/settings, readOnly: true }
      volumes:
        - name: settings
          configMap: { name: cupola-settings }
{{- end }}
