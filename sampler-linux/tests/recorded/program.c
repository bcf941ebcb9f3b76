// Stops at known places and writes down what a sampler's signal handler would
// see there, with what a walk over the stack has to find. See ./record.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define FUNCTION __attribute__((noinline, noclone))
#define WITHOUT_FRAME_POINTER FUNCTION __attribute__((optimize("omit-frame-pointer")))

// The least that the sampler copies of a stack.
enum { STACK_BYTES = 4096, ADDRESSES_MAX = 512 };

// Addresses whose unwind tables the recording needs.
static uintptr_t needed[4 * ADDRESSES_MAX];
static int needed_count;

static const char *stack_name;
static uintptr_t stack_end;
static sigjmp_buf after_fault;

// Return addresses by the compiler, callers first: no unwinder is asked.
static uintptr_t told[ADDRESSES_MAX];
static int told_count;

#define TELL_RETURN_ADDRESS() \
    (told[told_count++] = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)))

static void need(uintptr_t address) {
    if (needed_count < (int)(sizeof needed / sizeof *needed))
        needed[needed_count++] = address;
}

static void print_address(const char *what, uintptr_t address) {
    Dl_info info;
    const char *name = "?";
    if (dladdr((void *)address, &info) && info.dli_sname)
        name = info.dli_sname;
    printf("%s %" PRIxPTR " %s\n", what, address, name);
}

static void on_signal(int number, siginfo_t *info, void *context) {
    mcontext_t *machine = &((ucontext_t *)context)->uc_mcontext;
    printf("stack %s\n", stack_name);
    printf("registers pc %" PRIx64 " sp %" PRIx64 " fp %" PRIx64 " lr %" PRIx64 "\n",
           (uint64_t)machine->pc, (uint64_t)machine->sp, (uint64_t)machine->regs[29],
           (uint64_t)machine->regs[30]);
    need(machine->pc);
    need(machine->regs[30]);

    const unsigned char *stack = (const unsigned char *)(uintptr_t)machine->sp;
    size_t bytes = stack_end - machine->sp < STACK_BYTES ? stack_end - machine->sp : STACK_BYTES;
    printf("bytes ");
    for (size_t at = 0; at < bytes; at++)
        printf("%02x", stack[at]);
    printf("\n");

    // libgcc's unwinder is the second witness. It needs tables for every frame.
    void *addresses[ADDRESSES_MAX];
    int count = backtrace(addresses, ADDRESSES_MAX);
    int first = 0;
    while (first < count && (uintptr_t)addresses[first] != machine->pc)
        first++;
    for (int at = first; at < count; at++) {
        print_address("unwound", (uintptr_t)addresses[at]);
        need((uintptr_t)addresses[at] - (at > first));
    }
    for (int at = told_count - 1; at >= 0; at--) {
        print_address("told", told[at]);
        need(told[at] - 1);
    }
    if (number == SIGSEGV)
        siglongjmp(after_fault, 1);
    machine->pc += 4;
}

// Functions that the compiler knows nothing of. `stop_here` is a leaf: its
// caller is in the link register alone. `stop_in_prologue` has pushed its
// frame record, but does not point to it yet. `without_tables` has a frame
// record and no unwind table.
asm(".text\n"
    ".global stop_here\n.type stop_here, %function\n"
    "stop_here:\n.cfi_startproc\n"
    "brk #0\nret\n"
    ".cfi_endproc\n.size stop_here, . - stop_here\n"

    ".global stop_in_prologue\n.type stop_in_prologue, %function\n"
    "stop_in_prologue:\n.cfi_startproc\n"
    "stp x29, x30, [sp, #-32]!\n"
    ".cfi_def_cfa_offset 32\n.cfi_offset 29, -32\n.cfi_offset 30, -24\n"
    "brk #0\n"
    "mov x29, sp\n"
    "ldp x29, x30, [sp], #32\n"
    ".cfi_restore 30\n.cfi_restore 29\n.cfi_def_cfa_offset 0\n"
    "ret\n"
    ".cfi_endproc\n.size stop_in_prologue, . - stop_in_prologue\n"

    ".global without_tables\n.type without_tables, %function\n"
    "without_tables:\n"
    "stp x29, x30, [sp, #-16]!\n"
    "mov x29, sp\n"
    "bl stop_here\n"
    "ldp x29, x30, [sp], #16\n"
    "ret\n"
    ".size without_tables, . - without_tables\n");

void stop_here(void);
void stop_in_prologue(void);
void without_tables(void);

FUNCTION int with_frame_pointer(void (*stop)(void), volatile int rounds) {
    TELL_RETURN_ADDRESS();
    stop();
    return told_count-- + rounds;
}

WITHOUT_FRAME_POINTER int without_frame_pointer(void (*stop)(void), volatile int rounds) {
    TELL_RETURN_ADDRESS();
    return with_frame_pointer(stop, rounds + 1) + told_count-- + rounds;
}

FUNCTION int with_growing_frame(void (*stop)(void), volatile int rounds) {
    TELL_RETURN_ADDRESS();
    char *memory = __builtin_alloca((size_t)rounds * 64);
    memset(memory, rounds, (size_t)rounds * 64);
    int result = without_frame_pointer(stop, rounds) + memory[rounds];
    return result + told_count--;
}

WITHOUT_FRAME_POINTER int recursing(int depth) {
    TELL_RETURN_ADDRESS();
    if (depth == 0)
        stop_here();
    else
        recursing(depth - 1);
    return told_count--;
}

FUNCTION int compare(const void *one, const void *other) {
    static int calls;
    TELL_RETURN_ADDRESS();
    if (++calls == 3)
        stop_here();
    told_count--;
    return *(const int *)one - *(const int *)other;
}

WITHOUT_FRAME_POINTER int in_a_callback(void) {
    TELL_RETURN_ADDRESS();
    int numbers[] = {5, 3, 9, 1, 7, 2, 8};
    qsort(numbers, sizeof numbers / sizeof *numbers, sizeof *numbers, compare);
    return numbers[2] + told_count--;
}

FUNCTION size_t in_a_leaf_of_the_c_library(void) {
    TELL_RETURN_ADDRESS();
    size_t length = 0;
    if (sigsetjmp(after_fault, 1) == 0)
        length = strlen((const char *)(uintptr_t)told_count);
    told_count--;
    return length;
}

FUNCTION void record(const char *name) {
    stack_name = name;
    told_count = 0;
}

static void *thread(void *unused) {
    pthread_attr_t attributes;
    void *start;
    size_t bytes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &start, &bytes);
    stack_end = (uintptr_t)start + bytes;
    record("a_thread");
    with_growing_frame(stop_here, 2);
    return unused;
}

// Where a module is, and of its tables what the needed addresses need: the
// entries, and an index of just them. Offsets are those of the linker.
static int print_module(struct dl_phdr_info *info, size_t size, void *number) {
    uintptr_t start = UINTPTR_MAX, end = 0, header = 0;
    for (int at = 0; at < info->dlpi_phnum; at++) {
        const ElfW(Phdr) *it = &info->dlpi_phdr[at];
        if (it->p_type == PT_LOAD && it->p_flags & PF_X) {
            if (it->p_vaddr < start)
                start = it->p_vaddr;
            if (it->p_vaddr + it->p_memsz > end)
                end = it->p_vaddr + it->p_memsz;
        } else if (it->p_type == PT_GNU_EH_FRAME) {
            header = it->p_vaddr;
        }
    }
    uintptr_t bias = info->dlpi_addr;
    const unsigned char *bytes = (const unsigned char *)(bias + header);
    if (end == 0 || header == 0 || bytes[1] != 0x1b || bytes[2] != 0x03 || bytes[3] != 0x3b)
        return 0;
    const char *name = (*(int *)number)++ == 0 ? "program" : strrchr(info->dlpi_name, '/') + 1;
    int32_t frames_offset, entries;
    memcpy(&frames_offset, bytes + 4, 4);
    memcpy(&entries, bytes + 8, 4);
    printf("module %s bias %" PRIxPTR " code %" PRIxPTR " %" PRIxPTR " header %" PRIxPTR
           " frames %" PRIxPTR "\n",
           name, bias, start, end, header, header + 4 + frames_offset);
    int32_t last = -1;
    for (uintptr_t address = bias + start; address < bias + end; address += 4) {
        int is_needed = 0;
        for (int at = 0; at < needed_count && !is_needed; at++)
            is_needed = (needed[at] & ~(uintptr_t)3) == address;
        if (!is_needed)
            continue;
        int32_t found = -1;
        for (int32_t at = 0; at < entries; at++) {
            int32_t entry[2];
            memcpy(entry, bytes + 12 + 8 * at, 8);
            if (bias + header + entry[0] > address)
                break;
            found = at;
        }
        if (found < 0 || found == last)
            continue;
        last = found;
        int32_t entry[2];
        memcpy(entry, bytes + 12 + 8 * found, 8);
        printf("index %" PRIx32 " %" PRIx32 "\n", (uint32_t)entry[0], (uint32_t)entry[1]);
        const unsigned char *description = bytes + entry[1];
        uint32_t back;
        memcpy(&back, description + 4, 4);
        const unsigned char *both[] = {description + 4 - back, description};
        for (int at = 0; at < 2; at++) {
            uint32_t length;
            memcpy(&length, both[at], 4);
            printf("entry %" PRIxPTR " ", (uintptr_t)both[at] - bias);
            for (uint32_t byte = 0; byte < length + 4; byte++)
                printf("%02x", both[at][byte]);
            printf("\n");
        }
    }
    return 0;
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    static char signal_stack[256 << 10];
    stack_t other = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    sigaltstack(&other, NULL);
    sigaction(SIGTRAP, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    extern void *__libc_stack_end;
    // What is above belongs to the kernel: arguments and environment.
    stack_end = (uintptr_t)__libc_stack_end;

    record("a_leaf");
    with_growing_frame(stop_here, 3);
    record("a_prologue");
    with_growing_frame(stop_in_prologue, 1);
    record("code_without_tables");
    without_frame_pointer(without_tables, 1);
    record("a_callback_of_the_c_library");
    in_a_callback();
    record("a_leaf_of_the_c_library");
    in_a_leaf_of_the_c_library();
    record("more_than_is_copied");
    recursing(300);

    pthread_t second;
    pthread_create(&second, NULL, thread, NULL);
    pthread_join(second, NULL);

    int number = 0;
    dl_iterate_phdr(print_module, &number);
    return 0;
}
