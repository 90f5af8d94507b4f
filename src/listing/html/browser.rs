//! A headless Chromium, driven as its own test tools do: the DevTools protocol over two pipes.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const PATIENCE: Duration = Duration::from_secs(30);

/// One browser at a time: each takes several processes.
static ONE: Mutex<()> = Mutex::new(());

/// One page of one browser.
pub struct Browser {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    session: Option<String>,
    sent: u64,
    /// Addresses that anything was requested from.
    pub requested: Vec<String>,
    _profile: tempfile::TempDir,
    _alone: MutexGuard<'static, ()>,
}

impl Browser {
    /// Opens `page`; `None` after a SKIP line where there is no Chromium.
    pub fn open(test: &str, page: &Path) -> Option<Self> {
        let Some(program) = NAMES.into_iter().find(|name| is_there(name)) else {
            println!("SKIP {test}: no chromium is installed");
            return None;
        };
        let alone = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let profile = tempfile::tempdir().unwrap();
        // The protocol's pipes are descriptors 3 and 4.
        let script = "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
        let mut child = Command::new("sh")
            .args(["-c", script, program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--remote-debugging-pipe", "--window-size=1400,900"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut browser = Self {
            child,
            input,
            output,
            session: None,
            sent: 0,
            requested: Vec::new(),
            _profile: profile,
            _alone: alone,
        };
        let target = browser.ask("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.ask("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        browser.ask("Network.enable", json!({}));
        browser.ask("Page.enable", json!({}));
        browser.ask("Page.navigate", json!({"url": format!("file://{}", page.display())}));
        browser.wait("document.querySelector('html.ready') !== null");
        Some(browser)
    }

    /// Asks for something and waits for the answer; events that come before it are looked through.
    fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        write!(self.input, "{message}\0").unwrap();
        self.input.flush().unwrap();
        loop {
            let mut bytes = Vec::new();
            self.output.read_until(0, &mut bytes).unwrap();
            assert_eq!(bytes.pop(), Some(0), "the browser is gone");
            let answer: Value = serde_json::from_slice(&bytes).unwrap();
            if answer["method"] == "Network.requestWillBeSent" {
                self.requested.push(answer["params"]["request"]["url"].as_str().unwrap().to_owned());
            }
            if answer["id"] == json!(self.sent) {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    /// The value of a JavaScript expression.
    pub fn value(&mut self, expression: &str) -> Value {
        let answer = self.ask("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}));
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// Waits until the expression holds.
    pub fn wait(&mut self, expression: &str) {
        let start = Instant::now();
        while self.value(expression) != json!(true) {
            assert!(start.elapsed() < PATIENCE, "still not: {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What the page's thread has spent on scripts, styles and layout so far, in its own time: other programs on the
    /// machine make little difference.
    pub fn cpu(&mut self) -> Duration {
        self.ask("Performance.enable", json!({"timeDomain": "threadTicks"}));
        let answer = self.ask("Performance.getMetrics", json!({}));
        let metrics = answer["metrics"].as_array().unwrap();
        let wanted = ["ScriptDuration", "LayoutDuration", "RecalcStyleDuration"];
        let seconds = metrics.iter().filter(|it| wanted.contains(&it["name"].as_str().unwrap()));
        Duration::from_secs_f64(seconds.map(|it| it["value"].as_f64().unwrap()).sum())
    }

    /// Presses and releases a key, as a keyboard would.
    pub fn key(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { key } else { "" };
        let code = match key {
            "ArrowDown" => 40,
            "ArrowUp" => 38,
            "End" => 35,
            "Home" => 36,
            "PageDown" => 34,
            "Enter" => 13,
            "Escape" => 27,
            _ => 0,
        };
        let down = json!({"type": "keyDown", "key": key, "text": text, "windowsVirtualKeyCode": code});
        self.ask("Input.dispatchKeyEvent", down);
        self.ask(
            "Input.dispatchKeyEvent",
            json!({"type": "keyUp", "key": key, "windowsVirtualKeyCode": code}),
        );
    }

    /// Types text.
    pub fn keys(&mut self, text: &str) {
        text.chars().for_each(|c| self.key(&c.to_string()));
    }

    /// Clicks into the middle of the first element that `selector` finds.
    pub fn click(&mut self, selector: &str) {
        let place = self.value(&format!(
            "(() => {{ const r = document.querySelector({selector:?}).getBoundingClientRect(); \
             return [r.left + Math.min(r.width, 200) / 2, r.top + r.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
            self.ask("Input.dispatchMouseEvent", event);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_there(name: &str) -> bool {
    Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}
