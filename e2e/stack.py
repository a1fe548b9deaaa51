"""The programs of the end-to-end run, each on a free port of the loopback interface, and what they are asked."""

import contextlib
import http.server
import json
import pathlib
import shutil
import socket
import subprocess
import threading
import time
import urllib.parse
import urllib.request

from durations import shorten

REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
STARTED = time.monotonic()


class Failure(Exception):
    """What is not as it should be."""


def say(text):
    print(f"[{time.monotonic() - STARTED:5.1f}s] {text}", flush=True)


def until(what, check, patience=30):
    """Waits until a check returns something true, and returns that."""
    deadline = time.monotonic() + patience
    while True:
        result = check()
        if result:
            return result
        if time.monotonic() > deadline:
            raise Failure(f"within {patience} seconds not so: {what}")
        time.sleep(0.2)


def fetch(url, **parameters):
    if parameters:
        url += "?" + urllib.parse.urlencode(parameters)
    with urllib.request.urlopen(url, timeout=10) as response:
        return response.read().decode()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Program:
    """A server that runs until the end of the test."""

    def __init__(self, directory, name, port, command, ready):
        self.name, self.port, self.url, self.command, self.ready = name, port, f"http://127.0.0.1:{port}", command, ready
        self.log = directory / f"{name}.log"
        self.process = None

    def start(self):
        with self.log.open("a") as log:
            self.process = subprocess.Popen([str(word) for word in self.command], stdout=log, stderr=log)
        until(f"{self.name} is ready", self.is_ready, patience=60)

    def is_ready(self):
        if self.process.poll() is not None:
            raise Failure(f"{self.name} ended with {self.process.returncode}")
        with contextlib.suppress(OSError):
            return fetch(self.url + self.ready)
        return None

    def stop(self):
        if self.process is None:
            return
        self.process.terminate()
        try:
            self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def metric(self, name):
        """The sum of a metric that the program has about itself."""
        lines = [line for line in fetch(self.url + "/metrics").splitlines() if line.startswith((name + "{", name + " "))]
        if not lines:
            raise Failure(f"{self.name} has no metric {name}")
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


class Exporter(Program):
    def __init__(self, directory, name, binary, config):
        port = free_port()
        command = [binary, f"--config.file={config}", f"--web.listen-address=127.0.0.1:{port}"]
        super().__init__(directory, name, port, command, "/-/ready")


class Prometheus(Program):
    """Prometheus with the project's rules, their durations shortened."""

    def __init__(self, directory, exporters, alertmanager):
        rules = directory / "rules"
        rules.mkdir()
        for file in sorted((REPOSITORY / "rules").glob("*.rules.yml")):
            (rules / file.name).write_text(shorten(file.read_text()))
        targets = [f"127.0.0.1:{exporter.port}" for exporter in exporters]
        config = directory / "prometheus.yml"
        # JSON is YAML, too.
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [f"{rules}/*.rules.yml"],
            "scrape_configs": [{"job_name": "iceberg", "static_configs": [{"targets": targets}]}],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [f"127.0.0.1:{alertmanager.port}"]}]}]},
        }))
        port = free_port()
        command = [
            "prometheus", f"--config.file={config}", f"--storage.tsdb.path={directory}/tsdb",
            f"--web.listen-address=127.0.0.1:{port}", f"--web.external-url=http://127.0.0.1:{port}",
        ]
        super().__init__(directory, "prometheus", port, command, "/-/ready")

    def query(self, expression):
        return json.loads(fetch(self.url + "/api/v1/query", query=expression))["data"]["result"]

    def alerts(self, **labels):
        """The alerts with these labels that are pending or firing."""
        found = json.loads(fetch(self.url + "/api/v1/alerts"))["data"]["alerts"]
        return [alert for alert in found if labels.items() <= alert["labels"].items()]

    def history(self, state, **labels):
        """The times at which an alert was in a state."""
        selector = ",".join(f'{name}="{value}"' for name, value in {"alertstate": state, **labels}.items())
        return [at for series in self.query(f"ALERTS{{{selector}}}[10m]") for at, _ in series["values"]]

    def waits(self, alertname, **labels):
        """How long an alert has to be pending, as its rule says."""
        groups = json.loads(fetch(self.url + "/api/v1/rules", type="alert"))["data"]["groups"]
        rules = [rule for group in groups for rule in group["rules"] if rule["name"] == alertname]
        return next(rule["duration"] for rule in rules if rule["labels"].items() <= labels.items())


class Alertmanager(Program):
    """Alertmanager with the project's example of a configuration: durations shortened, credentials and addresses our own."""

    def __init__(self, directory, receiver):
        secrets = directory / "secrets"
        secrets.mkdir()
        text = (REPOSITORY / "rules/alertmanager.example.yml").read_text()
        for name, secret in receiver.secrets.items():
            if f"/etc/alertmanager/secrets/{name}" not in text:
                raise Failure(f"the example of Alertmanager's configuration has no secret {name}")
            (secrets / name).write_text(secret)
        text = text.replace("/etc/alertmanager/secrets", str(secrets))
        text = text.replace("https://alerts.example.com/iceberg", receiver.url + "/webhook")
        config = directory / "alertmanager.yml"
        config.write_text(f"global: {{pagerduty_url: '{receiver.url}/pagerduty'}}\n" + shorten(text))
        port = free_port()
        program = shutil.which("alertmanager") or shutil.which("prometheus-alertmanager")
        command = [
            program, f"--config.file={config}", f"--storage.path={directory}/alertmanager",
            f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address=",
        ]
        super().__init__(directory, "alertmanager", port, command, "/-/ready")

    def inhibited(self, **labels):
        found = json.loads(fetch(self.url + "/api/v2/alerts"))
        return [alert for alert in found if labels.items() <= alert["labels"].items() and alert["status"]["inhibitedBy"]]


class Receiver:
    """Listens for what Alertmanager sends: to the webhook, and to PagerDuty."""

    secrets = {"webhook-token": "token-of-the-webhook", "pager-routing-key": "key-of-the-pager",
               "streaming-pager-routing-key": "key-of-the-streaming-pager"}

    def __init__(self):
        self.alerts, self.pages, self.refused = [], [], []
        handler = type("Handler", (Handler,), {"receiver": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def take(self, path, authorization, message):
        """Takes a message, or returns False where its secret is wrong."""
        if path == "/webhook" and authorization == "Bearer " + self.secrets["webhook-token"]:
            self.alerts += message["alerts"]
        elif path == "/pagerduty" and message["routing_key"] == self.secrets["pager-routing-key"]:
            self.pages.append(message)
        else:
            self.refused.append((path, message))
            return False
        return True

    def alert(self, status, **labels):
        """The first alert with this status and these labels that the webhook got."""
        for alert in list(self.alerts):
            if alert["status"] == status and labels.items() <= alert["labels"].items():
                return alert
        return None

    def page(self, action, **labels):
        """The first page with this action that is about an alert with these labels."""
        told = [f"{name} = {value}\n" for name, value in labels.items()]
        for page in list(self.pages):
            details = page["payload"]["custom_details"]
            about = details["firing"] if action == "trigger" else details["resolved"]
            if page["event_action"] == action and all(text in about for text in told):
                return page
        return None


class Handler(http.server.BaseHTTPRequestHandler):
    receiver = None

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        taken = self.receiver.take(self.path, self.headers.get("Authorization"), message)
        self.send_response(202 if taken else 403)
        self.end_headers()

    def log_message(self, *_):
        pass
