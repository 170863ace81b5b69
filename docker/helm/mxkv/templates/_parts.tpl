{{- define "mxkv.name" -}}
{{- $name := .Values.nameOverride | default (ternary .Release.Name (printf "%s-mxkv" .Release.Name) (contains "mxkv" .Release.Name)) -}}
{{- $name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "mxkv.selector" -}}
app.kubernetes.io/name: mxkv
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "mxkv.labels" -}}
{{ include "mxkv.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "mxkv.cluster" -}}
{{- .Values.cluster.name | default (include "mxkv.name" .) -}}
{{- end -}}

{{- /* NAME=PEER=ADDRESS of each pod, for the first map. */ -}}
{{- define "mxkv.nodes" -}}
{{- $nodes := list -}}
{{- range $i := until (int .Values.replicas) -}}
{{- $name := printf "%s-%d" (include "mxkv.name" $) $i -}}
{{- $host := printf "%s.%s-pods.%s" $name (include "mxkv.name" $) $.Release.Namespace -}}
{{- $nodes = append $nodes (printf "%s=%s:%d=%s:%d" $name $host (int $.Values.ports.peer) $host (int $.Values.ports.client)) -}}
{{- end -}}
{{- join "," $nodes -}}
{{- end -}}

{{- define "mxkv.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end -}}

{{- define "mxkv.usersSecret" -}}
{{- if .Values.users.existingSecret -}}
{{- .Values.users.existingSecret -}}
{{- else if .Values.users.file -}}
{{- include "mxkv.name" . }}-users
{{- end -}}
{{- end -}}

{{- /* How a pod is asked: (list . path), the path of the admin listener's, where there is one. */ -}}
{{- define "mxkv.question" -}}
{{- if (index . 0).Values.admin.enabled -}}
httpGet: {path: {{ index . 1 }}, port: admin}
{{- else -}}
exec: {command: [healthcheck]}
{{- end -}}
{{- end -}}

{{- /* As many workers as CPUs are requested. With a limit of CPUs the server counts them itself. */ -}}
{{- define "mxkv.workers" -}}
{{- $resources := .Values.resources | default dict -}}
{{- $requested := dig "requests" "cpu" "" $resources | toString -}}
{{- if and $requested (not (dig "limits" "cpu" "" $resources | toString)) -}}
{{- if hasSuffix "m" $requested -}}
{{- divf (trimSuffix "m" $requested) 1000 | ceil | int -}}
{{- else -}}
{{- $requested | float64 | ceil | int -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The folders of secrets, a word each. */ -}}
{{- define "mxkv.secretFolders" -}}
{{- $folders := list -}}
{{- if include "mxkv.usersSecret" . -}}{{- $folders = append $folders "/etc/mxkv-users" -}}{{- end -}}
{{- if .Values.tls.existingSecret -}}{{- $folders = append $folders "/etc/mxkv-tls" -}}{{- end -}}
{{- if and .Values.cluster.enabled .Values.cluster.tls.existingSecret -}}{{- $folders = append $folders "/etc/mxkv-nodes" -}}{{- end -}}
{{- join " " $folders -}}
{{- end -}}

{{- define "mxkv.secretMounts" -}}
{{- if include "mxkv.usersSecret" . }}
- {name: users, mountPath: /etc/mxkv-users, readOnly: true}
{{- end }}
{{- if .Values.tls.existingSecret }}
- {name: tls, mountPath: /etc/mxkv-tls, readOnly: true}
{{- end }}
{{- if and .Values.cluster.enabled .Values.cluster.tls.existingSecret }}
- {name: nodes, mountPath: /etc/mxkv-nodes, readOnly: true}
{{- end }}
{{- end -}}

{{- /* mxkv.yaml: what the chart says, and over it what `config` says. */ -}}
{{- define "mxkv.config" -}}
{{- $server := dict "drain_timeout" (printf "%ds" (int .Values.drainSeconds)) -}}
{{- if include "mxkv.usersSecret" . -}}
{{- $_ := set $server "auth_file" (printf "/etc/mxkv-users/%s" .Values.users.key) -}}
{{- end -}}
{{- $config := dict "server" $server -}}
{{- $_ := set $config "listeners" (list (printf "%s:%d" .Values.address (int .Values.ports.client))) -}}
{{- with include "mxkv.workers" . -}}
{{- $_ := set $config "workers" (int .) -}}
{{- end -}}
{{- if .Values.admin.enabled -}}
{{- $listener := dict "address" (trimAll "[]" .Values.address) "port" (int .Values.ports.admin) "auth" .Values.admin.auth -}}
{{- $_ := set $config "admin" (dict "listeners" (list $listener)) -}}
{{- end -}}
{{- if .Values.durability.enabled -}}
{{- $_ := set $config "durability" (dict "directory" "/var/lib/mxkv" "sync" .Values.durability.sync) -}}
{{- $_ := set $config "memory" (dict "when_full" .Values.durability.whenFull) -}}
{{- end -}}
{{- with .Values.cluster -}}
{{- if .enabled -}}
{{- $_ := set $config "memory" (dict "when_full" "error") -}}
{{- $_ := set $config "cluster" (dict "name" (include "mxkv.cluster" $) "brokers" .brokers "properties" .properties "lease" .lease "peer" (printf "%s:%d" $.Values.address (int $.Values.ports.peer))) -}}
{{- if .tls.existingSecret -}}
{{- $_ := set $config.cluster "tls" (dict "certificate" "/etc/mxkv-nodes/tls.crt" "key" "/etc/mxkv-nodes/tls.key" "ca" "/etc/mxkv-nodes/ca.crt" "name" (.tls.name | default "none")) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- mustMergeOverwrite $config (deepCopy .Values.config) | toYaml -}}
{{- end -}}
