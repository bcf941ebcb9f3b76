// Go's runtime/pprof under the workload of the benches: an equal program, with
// the same cases, the same names of threads and the same line of JSON.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const (
	clockProcessCPU = 2
	clockThreadCPU  = 3
)

func clock(number uintptr) time.Duration {
	var now syscall.Timespec
	syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, number, uintptr(unsafe.Pointer(&now)), 0)
	return time.Duration(now.Nano())
}

//go:noinline
func threadCPU() time.Duration { return clock(clockThreadCPU) }

func processCPU() time.Duration { return clock(clockProcessCPU) }

// The function in which all time goes.
//
//go:noinline
func spinHot(rounds int, state uint64) uint64 {
	for round := 0; round < rounds; round++ {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
	}
	return state
}

var sink uint64

//go:noinline
func burn(cpu time.Duration) time.Duration {
	start := threadCPU()
	state := uint64(1)
	for {
		spent := threadCPU() - start
		if spent >= cpu {
			sink += state
			return spent
		}
		state = spinHot(300_000, state)
	}
}

type numbers map[string]float64

// Goroutines, each on a thread of its own, that are there before sampling
// begins and after it has ended.
type crew struct {
	start, done, end sync.WaitGroup
	all              sync.WaitGroup
	cpu              []time.Duration
}

func newCrew(count int, seconds time.Duration) *crew {
	c := &crew{cpu: make([]time.Duration, count)}
	c.start.Add(1)
	c.end.Add(1)
	c.done.Add(count)
	c.all.Add(count)
	ready := sync.WaitGroup{}
	ready.Add(count)
	for number := range count {
		go func() {
			defer c.all.Done()
			runtime.LockOSThread()
			labels := pprof.Labels("thread", "busy-"+strconv.Itoa(number))
			pprof.Do(context.Background(), labels, func(context.Context) {
				ready.Done()
				c.start.Wait()
				c.cpu[number] = burn(seconds)
				c.done.Done()
				c.end.Wait()
			})
		}()
	}
	ready.Wait()
	return c
}

func (c *crew) work() {
	c.start.Done()
	c.done.Wait()
}

func (c *crew) finish() {
	c.end.Done()
	c.all.Wait()
}

// Starts to sample. StartCPUProfile asks for 100 Hz; a rate that was set before
// stays, and it says so on standard error.
func start(hz int) *bytes.Buffer {
	profile := &bytes.Buffer{}
	if hz != 100 {
		runtime.SetCPUProfileRate(hz)
	}
	if err := pprof.StartCPUProfile(profile); err != nil {
		fail(err)
	}
	return profile
}

func busy(hz, threads int, seconds time.Duration) (numbers, []byte) {
	c := newCrew(threads, seconds)
	profile := start(hz)
	before := processCPU()
	c.work()
	cpu := processCPU() - before
	pprof.StopCPUProfile()
	c.finish()
	found := numbers{"cpu": cpu.Seconds()}
	for number, cpu := range c.cpu {
		found["cpu busy-"+strconv.Itoa(number)] = cpu.Seconds()
	}
	return found, profile.Bytes()
}

func cost(hz int, seconds time.Duration) (numbers, []byte) {
	c := newCrew(1, seconds)
	begin := processCPU()
	profile := start(hz)
	started := processCPU()
	c.work()
	worked := processCPU()
	pprof.StopCPUProfile()
	stopped := processCPU()
	c.finish()
	return numbers{
		"cpu start":  (started - begin).Seconds(),
		"cpu finish": (stopped - worked).Seconds(),
		"cpu busy-0": c.cpu[0].Seconds(),
		"cpu others": (worked - started - c.cpu[0]).Seconds(),
	}, profile.Bytes()
}

func resident(name string) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fail(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, found := strings.CutPrefix(line, name+":"); found {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			if err != nil {
				fail(err)
			}
			return kib * 1024
		}
	}
	return 0
}

func memory(hz int, seconds time.Duration) (numbers, []byte) {
	c := newCrew(2, seconds)
	burn(5 * time.Millisecond)
	resident("VmHWM")
	before := resident("VmRSS")
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		fail(err)
	}
	profile := start(hz)
	c.work()
	capturing := resident("VmHWM")
	pprof.StopCPUProfile()
	ending := resident("VmHWM")
	kept := bytes.Clone(profile.Bytes())
	profile = nil
	debug.FreeOSMemory()
	time.Sleep(200 * time.Millisecond)
	after := resident("VmRSS")
	c.finish()
	return numbers{
		"idle":      0,
		"capturing": capturing - before,
		"ending":    ending - before,
		"after":     after - before,
	}, kept
}

// The same amount of work in every call.
//
//go:noinline
func fixedWork(rounds int) int {
	kept := 0
	for round := range rounds {
		state := uint64(round) | 1
		values := make([]uint64, 4096)
		for place := range values {
			state ^= state << 13
			state ^= state >> 7
			state ^= state << 17
			values[place] = state
		}
		sort.Slice(values, func(i, j int) bool { return values[i] < values[j] })
		texts := make(map[uint64]string)
		for place := 0; place < len(values); place += 8 {
			texts[values[place]] = strconv.FormatUint(values[place], 10)
		}
		kept += len(texts)
	}
	return kept
}

func timed(rounds int) float64 {
	start := threadCPU()
	sink += uint64(fixedWork(rounds))
	return (threadCPU() - start).Seconds()
}

func slowdown(hz int, turn time.Duration, pairs int) (numbers, []byte) {
	runtime.LockOSThread()
	rounds := max(1, int(turn.Seconds()/timed(8)*8))
	sampled := func() float64 {
		start(hz)
		time := timed(rounds)
		pprof.StopCPUProfile()
		return time
	}
	var ratios []float64
	for pair := range pairs {
		var with, without float64
		if pair%2 == 0 {
			without = timed(rounds)
			with = sampled()
		} else {
			with = sampled()
			without = timed(rounds)
		}
		ratios = append(ratios, with/without-1)
	}
	sort.Float64s(ratios)
	part := func(share float64) float64 {
		return ratios[int(float64(len(ratios)-1)*share+0.5)]
	}
	return numbers{"low": part(0.25), "median": part(0.5), "high": part(0.75)}, nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("a subject needs a case"))
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	hz := flags.Int("hz", 100, "samples per second of CPU time")
	threads := flags.Int("threads", 1, "how many threads")
	seconds := flags.Float64("seconds", 1, "how much CPU time")
	pairs := flags.Int("pairs", 1, "how many pairs of turns")
	path := flags.String("profile", "", "where the profile goes")
	if err := flags.Parse(os.Args[2:]); err != nil {
		fail(err)
	}
	cpu := time.Duration(*seconds * float64(time.Second))
	runtime.GOMAXPROCS(max(runtime.NumCPU(), *threads+1))

	var found numbers
	var profile []byte
	switch os.Args[1] {
	case "busy":
		found, profile = busy(*hz, *threads, cpu)
	case "cost":
		found, profile = cost(*hz, cpu)
	case "memory":
		found, profile = memory(*hz, cpu)
	case "slowdown":
		found, profile = slowdown(*hz, cpu, *pairs)
	default:
		fail(fmt.Errorf("no such case: %s", os.Args[1]))
	}
	if *path != "" && profile != nil {
		if err := os.WriteFile(*path, profile, 0o600); err != nil {
			fail(err)
		}
	}
	line, err := json.Marshal(found)
	if err != nil {
		fail(err)
	}
	fmt.Println(string(line))
}
