// Browsers refuse to start a worker from a file. Search needs one, so where the site is read from a folder instead of a
// web server, a hidden frame takes its place: it runs the same script and passes messages on.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inside = this.frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      inside.importScripts = (...addresses) =>
        addresses.reduce((before, each) => before.then(() => this.load(new URL(each, address))), Promise.resolve());
      this.load(address).then(() => {
        this.ready = true;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      });
    }

    load(address) {
      return new Promise((done, failed) => {
        const inside = this.frame.contentDocument;
        const script = inside.createElement("script");
        script.src = address;
        script.onload = done;
        script.onerror = failed;
        inside.body.append(script);
      });
    }

    postMessage(data) {
      if (!this.ready) this.waiting.push(data);
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {
      this.frame.remove();
    }
  };
}
