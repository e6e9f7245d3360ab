package cli

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progress shows how far a long run is, on one line of a terminal that it
// rewrites. It shows nothing on anything else.
type progress struct {
	w     io.Writer // nil: show nothing
	now   func() time.Time
	start time.Time
	last  time.Time // when the line was last written
	shown bool      // the line is on the screen

	plain     io.Writer // where w would be if it were a terminal
	loading   time.Time // when the first kernel of this load was ready
	announced bool      // that kernels are assembled
}

const (
	progressAfter = time.Second            // a run that is shorter shows nothing
	progressEvery = 200 * time.Millisecond // between updates
)

// newProgress returns a progress on w if that is a terminal.
func newProgress(w io.Writer) *progress {
	p := &progress{now: time.Now, start: time.Now(), plain: w}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.w = w
	}
	return p
}

// show says what is done now.
func (p *progress) show(done, total int, what string) {
	now := p.now()
	if p.w == nil || now.Sub(p.start) < progressAfter || now.Sub(p.last) < progressEvery {
		return
	}
	p.last, p.shown = now, true
	// Return, text, erase to the end of the line.
	fmt.Fprintf(p.w, "\r%d of %d: %s\x1b[K", done, total, what)
}

// kernels says how many kernels are ready to run. Where there is no terminal it
// is said once, of what takes longer than a moment.
func (p *progress) kernels(done, total int) {
	const what = "kernels ready; each is assembled once on a machine"
	if p.w != nil {
		p.show(done, total, what)
		return
	}
	now := p.now()
	if p.loading.IsZero() {
		p.loading = now
	}
	if done == total {
		// Each communicator loads anew.
		p.loading = time.Time{}
	}
	if !p.announced && done < total && now.Sub(p.loading) >= progressAfter {
		p.announced = true
		fmt.Fprintf(p.plain, "nccl-run: %d of %d %s\n", done, total, what)
	}
}

// clear takes the line away before something else is printed.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
