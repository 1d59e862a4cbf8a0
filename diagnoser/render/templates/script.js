"use strict";
(function () {
  var status = document.querySelector(".status");
  function say(text) { status.textContent = ""; window.setTimeout(function () { status.textContent = text; }, 50); }
  function select(node) {
    var range = document.createRange(), selection = window.getSelection();
    range.selectNodeContents(node); selection.removeAllRanges(); selection.addRange(range);
  }
  function byHand(node) {
    select(node);
    var done = false;
    try { done = document.execCommand("copy"); } catch (error) { done = false; }
    say(done ? "Copied" : "Selected; copy it with the keyboard");
  }
  document.querySelectorAll("button.copy").forEach(function (button) {
    var code = button.parentNode.querySelector("code");
    button.hidden = false;
    button.addEventListener("click", function () {
      if (navigator.clipboard && navigator.clipboard.writeText) {
        navigator.clipboard.writeText(code.textContent).then(function () { say("Copied"); }, function () { byHand(code); });
      } else { byHand(code); }
    });
  });
})();
