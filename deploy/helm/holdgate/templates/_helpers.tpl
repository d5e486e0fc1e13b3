{{- define "holdgate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "holdgate.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains (include "holdgate.name" .) .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "holdgate.name" .) | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "holdgate.selector" -}}
app.kubernetes.io/name: {{ include "holdgate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "holdgate.labels" -}}
{{ include "holdgate.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "holdgate.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}{{ default (include "holdgate.fullname" .) .Values.serviceAccount.name }}{{ else }}{{ default "default" .Values.serviceAccount.name }}{{ end }}
{{- end }}

{{- define "holdgate.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}{{ end }}
{{- end }}

{{- /* holdgate.yaml: what the chart needs, and config of the values. */ -}}
{{- define "holdgate.config" -}}
{{- $listen := dict "agents" "0.0.0.0:7300" "approvers" "0.0.0.0:7301" }}
{{- $service := printf "%s-approvers.%s.svc" (include "holdgate.fullname" .) .Release.Namespace }}
{{- $tls := dict "names" (default (list $service) .Values.tls.names) }}
{{- if .Values.tls.secretName }}
{{- $_ := set $tls "cert" "/etc/holdgate-tls/tls.crt" }}
{{- $_ := set $tls "key" "/etc/holdgate-tls/tls.key" }}
{{- if not .Values.tls.names }}{{ $_ := unset $tls "names" }}{{ end }}
{{- else }}
{{- $_ := set $tls "own_ca" true }}
{{- end }}
{{- $_ := set $listen "approvers_tls" $tls }}
{{- if .Values.metrics.enabled }}
{{- $_ := set $listen "metrics" (printf "0.0.0.0:%d" (int .Values.metrics.port)) }}
{{- $_ := set $listen "metrics_from" .Values.metrics.from }}
{{- end }}
{{- $config := mustMergeOverwrite (deepCopy .Values.config) (dict "listen" $listen "state_dir" "/var/lib/holdgate/state") }}
{{- if .Values.postgres.secretName }}
{{- $postgres := dict "url_file" "/var/lib/holdgate/state/db.url" }}
{{- with .Values.postgres.takeOver }}{{ $_ := set $postgres "take_over" . }}{{ end }}
{{- $config = mustMergeOverwrite $config (dict "store" (dict "postgres" $postgres)) }}
{{- end }}
{{- if .Values.rules }}
{{- $config = mustMergeOverwrite $config (dict "policy" (dict "path" "/etc/holdgate-rules")) }}
{{- end }}
{{- if .Values.tokenReview.enabled }}
{{- $account := "/var/run/secrets/kubernetes.io/serviceaccount" }}
{{- $config = mustMergeOverwrite $config (dict "kubernetes" (dict "audience" .Values.tokenReview.audience "api_server" "https://kubernetes.default.svc" "ca_file" (printf "%s/ca.crt" $account) "token_file" (printf "%s/token" $account))) }}
{{- end }}
{{- toYaml $config }}
{{- end }}
