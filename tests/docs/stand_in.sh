#!/usr/bin/env bash
# Stands in for the programs around `diagnose` when the commands of the documentation are run by a test:
# the ones that print logs print the sample log, the ones that start servers print it and die, the others do nothing.
log=samples/kv-heads-tp3/worker.log
case "$(basename "$0") $*" in
  "kubectl logs "* | "docker logs "* | "docker compose logs"* | "podman logs "* | "journalctl "* | "ray logs "* | "stern "*) cat "$log" ;;
  "kubectl get "*"-o json"* | "kubectl get "*"--output=json"*) echo '{"items": []}' ;;
  "vllm serve"* | "vllm "*) cat "$log"; exit 1 ;;
  "srun "*) while [ $# -gt 0 ] && [[ $1 == -* ]]; do shift; done; exec "$@" ;;
  "sudo "*) exec "$@" ;;
esac
