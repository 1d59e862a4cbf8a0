#!/usr/bin/env bash
# Stands in for the programs around `diagnose` when the commands of the documentation are run by a test:
# the ones that print logs print the sample log, the ones that start servers print it and die, the others do nothing.
log=samples/kv-heads-tp3/worker.log
pod='{"kind": "Pod", "metadata": {"name": "vllm-0", "namespace": "default"}, "status": {"phase": "Running",
  "containerStatuses": [{"name": "vllm", "restartCount": 1, "state": {"running": {}},
  "lastState": {"terminated": {"reason": "Error", "exitCode": 1, "finishedAt": "2026-03-14T03:07:35Z"}}}]}}'
case "$(basename "$0") $*" in
  "kubectl logs "* | "docker logs "* | "docker compose logs"* | "podman logs "* | "journalctl "* | "ray logs "* | "stern "*) cat "$log" ;;
  "kubectl diagnose "*) shift; exec kubectl-diagnose "$@" ;;
  "kubectl "*"get events"*) echo '{"items": []}' ;;
  "kubectl "*"get pods -l"*) echo "{\"kind\": \"List\", \"items\": [$pod]}" ;;
  "kubectl "*"get "*) echo "$pod" ;;
  "kubectl "*"logs"*) cat "$log" ;;
  "vllm serve"* | "vllm "*) cat "$log"; exit 1 ;;
  "srun "*) while [ $# -gt 0 ] && [[ $1 == -* ]]; do shift; done; exec "$@" ;;
  "sudo "*) exec "$@" ;;
esac
