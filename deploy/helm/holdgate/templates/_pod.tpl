{{- /* The pod, of a StatefulSet with volumes or of a Deployment on PostgreSQL. */ -}}
{{- define "holdgate.pod" -}}
{{- $config := include "holdgate.config" . | fromYaml }}
{{- $limits := omit (default dict $config.limits) "pending" "held_bytes" "decisions_per_second" "log_bytes_per_hour" }}
metadata:
  labels:
    {{- include "holdgate.labels" . | nindent 4 }}
    {{- with .Values.podLabels }}{{ toYaml . | nindent 4 }}{{ end }}
  annotations: # what the running Holdgate reads anew is left out: where that loosens, a person has to accept it
    checksum/config: {{ set (omit $config "approver" "people" "agents" "credentials" "routes" "gates" "prices") "limits" $limits | toYaml | sha256sum }}
    {{- with .Values.podAnnotations }}{{ toYaml . | nindent 4 }}{{ end }}
spec:
  serviceAccountName: {{ include "holdgate.serviceAccount" . }}
  automountServiceAccountToken: {{ .Values.tokenReview.enabled }}
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsUser: 7300
    runAsGroup: 7300
    runAsNonRoot: true
    fsGroup: 7300
    fsGroupChangePolicy: OnRootMismatch # else each start would let the group read keys
    seccompProfile: {type: RuntimeDefault}
  {{- with .Values.postgres.secretName }}
  initContainers:
    - name: keys
      image: {{ include "holdgate.image" $ | quote }}
      imagePullPolicy: {{ $.Values.image.pullPolicy }}
      args: [store, keys, --from, /etc/holdgate-shared, --state-dir, /var/lib/holdgate/state, --config, ""]
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      resources: {{- toYaml $.Values.resources | nindent 8 }}
      volumeMounts:
        - {name: state, mountPath: /var/lib/holdgate}
        - {name: shared, mountPath: /etc/holdgate-shared, readOnly: true}
  {{- end }}
  containers:
    - name: holdgate
      image: {{ include "holdgate.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args: [serve, --config, /etc/holdgate/holdgate.yaml, --log, info, --log-format, json]
      {{- with .Values.env }}
      env: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.envFrom }}
      envFrom: {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        - {name: agents, containerPort: 7300}
        - {name: approvers, containerPort: 7301}
        {{- if .Values.metrics.enabled }}
        - {name: metrics, containerPort: {{ .Values.metrics.port }}}
        {{- end }}
      startupProbe:
        httpGet: {scheme: HTTPS, path: /healthz, port: approvers}
        periodSeconds: 1
        failureThreshold: 60
      livenessProbe:
        httpGet: {scheme: HTTPS, path: /healthz, port: approvers}
        periodSeconds: 10
        failureThreshold: 6
      readinessProbe:
        httpGet: {scheme: HTTPS, path: /readyz, port: approvers}
        periodSeconds: 5
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: {drop: [ALL]}
      resources: {{- toYaml .Values.resources | nindent 8 }}
      volumeMounts:
        - {name: state, mountPath: /var/lib/holdgate}
        - {name: config, mountPath: /etc/holdgate, readOnly: true}
        {{- if .Values.tls.secretName }}
        - {name: tls, mountPath: /etc/holdgate-tls, readOnly: true}
        {{- end }}
        {{- if .Values.rules }}
        - {name: rules, mountPath: /etc/holdgate-rules, readOnly: true}
        {{- end }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- if .Values.affinity }}
  affinity: {{- toYaml .Values.affinity | nindent 4 }}
  {{- else if .Values.postgres.secretName }}
  affinity: # the one that works and those that stand by, on several nodes
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            topologyKey: kubernetes.io/hostname
            labelSelector:
              matchLabels: {{- include "holdgate.selector" . | nindent 16 }}
  {{- end }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints: {{- toYaml . | nindent 4 }}
  {{- end }}
  volumes:
    - name: config
      configMap: {name: {{ include "holdgate.fullname" . }}}
    {{- with .Values.tls.secretName }}
    - name: tls
      secret: {secretName: {{ . }}}
    {{- end }}
    {{- if .Values.rules }}
    - name: rules
      configMap: {name: {{ include "holdgate.fullname" . }}-rules}
    {{- end }}
    {{- with .Values.postgres.secretName }}
    - name: shared
      secret: {secretName: {{ . }}}
    {{- end }}
    {{- if or .Values.postgres.secretName (not .Values.persistence.enabled) }}
    - {name: state, emptyDir: {}}
    {{- end }}
{{- end }}
