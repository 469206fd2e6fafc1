//! Assembly that saves and restores the vector registers, shared by the stubs that interrupt a program
//! anywhere.

/// Saves all vector state below the stack: rsp and r12 are then its aligned address. Changes rax, rcx
/// and rdx. The template's `size` and `mask` are [`VECTOR_SIZE`](crate::sys::dispatch::VECTOR_SIZE)
/// and [`VECTOR_MASK`](crate::sys::dispatch::VECTOR_MASK).
macro_rules! save_vectors {
    () => {
        concat!(
            "mov rax, [rip + {size}]; sub rsp, rax; and rsp, -64; mov r12, rsp;",
            // xsave does not write its header's reserved bytes; they must be zero for xrstor.
            "xor ecx, ecx;",
            "mov [r12 + 512], rcx; mov [r12 + 520], rcx; mov [r12 + 528], rcx;",
            "mov [r12 + 536], rcx; mov [r12 + 544], rcx; mov [r12 + 552], rcx;",
            "mov [r12 + 560], rcx; mov [r12 + 568], rcx;",
            "mov eax, [rip + {mask}]; xor edx, edx; xsave64 [r12]"
        )
    };
}

/// Restores what [`save_vectors`] saved. Changes rax and rdx.
macro_rules! restore_vectors {
    () => {
        concat!("mov eax, [rip + {mask}]; xor edx, edx; xrstor64 [r12]")
    };
}

pub(crate) use {restore_vectors, save_vectors};
