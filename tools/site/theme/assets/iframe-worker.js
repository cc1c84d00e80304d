/*
 * Search without a server: browsers start no Worker for pages that are opened from file://, so one is replaced there by
 * a hidden frame. What the theme needs of a Worker is there: messages in both directions, and importScripts, which
 * returns a promise here, as the theme expects of its replacement. The theme looks for the name of this file.
 */
"use strict";

if (location.protocol === "file:") {
  const load = (frame, url) =>
    new Promise((resolve, reject) => {
      const script = frame.createElement("script");
      script.src = url;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${url} cannot be loaded`));
      frame.body.append(script);
    });

  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = this.onerror = null;
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html><body>";
      this.frame = frame;
      this.ready = new Promise((resolve) => (frame.onload = resolve)).then(() => this.begin(String(url)));
      this.ready.catch((error) => this.tell("error", new ErrorEvent("error", { message: error.message, error })));
      document.body.append(frame);
    }

    begin(url) {
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => setTimeout(() => this.tell("message", new MessageEvent("message", { data })));
      inside.importScripts = async (...urls) => {
        for (const each of urls) await load(inside.document, each);
      };
      return load(inside.document, url);
    }

    /* The worker's script uses the constructors of its own window. */
    postMessage(data) {
      this.ready.then(() => {
        const inside = this.frame.contentWindow;
        inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.frame.remove();
    }

    tell(kind, event) {
      this.dispatchEvent(event);
      if (this[`on${kind}`]) this[`on${kind}`](event);
    }
  };
}
