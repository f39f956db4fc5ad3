//! The glue to the SDK: what `rmcp` needs to be told, and what it leaves to its user. No rule of the guard is here.
//!
//! Left to the user by `rmcp` 3.11, and done here: malformed parameters of a known method are −32602, not −32601; a panic is
//! answered (−32603) and not swallowed; the end of stdin before the first message is no failure.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ClientCapabilities, ContentBlock,
    CustomRequest, CustomResult, DiscoverResult, ElicitRequest, ElicitRequestParams, ElicitationCapability, ErrorCode,
    ErrorData, FormElicitationCapability, GetTaskParams, GetTaskResult, Implementation, InitializeRequestParams,
    InitializeResult, InputRequests, InputRequiredResult, ListToolsResult, MetaObject, PaginatedRequestParams,
    ProtocolVersion, ServerCapabilities, ServerConfig, Tool, ToolAnnotations, UpdateTaskParams,
};
use rmcp::service::{QuitReason, RequestContext, RoleServer, ServerInitializeError};
use rmcp::{ServerHandler, ServiceExt as _, transport};
use serde_json::{Map, Value, json};
use thiserror::Error;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{JoinError, JoinHandle};

use crate::defect::Defect;
use crate::tasks;
use crate::tools::{Answer, Call, CallError, Description, InputRequest, Tools};

/// The revisions that are served: one with Multi Round-Trip Requests, and two before it.
const VERSIONS: &[ProtocolVersion] = &[
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
    ProtocolVersion::V_2026_07_28,
];

/// Methods that this server serves; their parameters are malformed when the SDK hands them over as a custom request.
const METHODS: &[&str] = &[
    "initialize",
    "ping",
    "server/discover",
    "tasks/cancel",
    "tasks/get",
    "tasks/update",
    "tools/call",
    "tools/list",
];

/// A session that did not end as it should.
#[derive(Debug, Error)]
pub enum SessionError {
    /// The first message opens no session. What it said is not repeated: it may be long, and is not ours.
    #[error("the session was not opened: the first message is no request; begin with server/discover or initialize")]
    NoRequest,
    /// The handshake failed, and the client has been told why.
    #[error("the session was not opened: the handshake failed with code {0}")]
    HandshakeFailed(i32),
    /// The first reply could not be sent.
    #[error("the session was not opened: the client reads no replies")]
    NobodyReads,
    /// The signals cannot be listened to.
    #[error("signals cannot be listened to: {0}")]
    Signals(std::io::Error),
    /// The SDK's loop died.
    #[error("the session's loop died: {0}")]
    LoopDied(String),
}

/// Why a session ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Stdin was closed, and what was in flight has been answered.
    StdinClosed,
    /// SIGTERM arrived.
    Terminated,
}

/// Serves one session over stdin and stdout, until stdin closes or SIGTERM arrives.
pub(crate) async fn serve_stdio(tools: Tools) -> Result<Ended, SessionError> {
    let mut terminated = signal(SignalKind::terminate()).map_err(SessionError::Signals)?;
    let server = GuardedServer { tools: Arc::new(tools) };
    let session = async {
        match server.serve(transport::stdio_pipes()).await {
            Ok(running) => running
                .waiting()
                .await
                .map_err(|died| SessionError::LoopDied(died.to_string())),
            // Nobody wanted anything: that is an end, not a failure.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(QuitReason::Closed),
            Err(ServerInitializeError::InitializeFailed(error)) => Err(SessionError::HandshakeFailed(error.code.0)),
            Err(ServerInitializeError::TransportError { .. }) => Err(SessionError::NobodyReads),
            Err(_another) => Err(SessionError::NoRequest),
        }
    };
    tokio::select! {
        ended = session => match ended? {
            QuitReason::JoinError(died) => Err(SessionError::LoopDied(died.to_string())),
            QuitReason::Closed | QuitReason::Cancelled | _ => Ok(Ended::StdinClosed),
        },
        _ = terminated.recv() => Ok(Ended::Terminated),
    }
}

#[derive(Clone)]
struct GuardedServer {
    tools: Arc<Tools>,
}

impl ServerHandler for GuardedServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tasks().build())
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
            .with_server_info(server_info())
            .with_instructions(
                "Every write has an identity: operation_id, or _meta.idempotency_key where it is submitted. After a lost reply, \
                 repeat the last call with the same requestState and inputResponses, or ask get_operation_status, or \
                 get_submission_status; never start a lost write under a new identity.",
            )
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(VERSIONS)
    }

    /// Tasks, and extensions at all, belong to the revisions without a handshake.
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        result.capabilities.extensions = None;
        Ok(result)
    }

    async fn discover(&self, _context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.tools.ledger.note_arrival();
        Ok(DiscoverResult::from_server_info(VERSIONS.to_vec(), self.get_info()))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.tools.ledger.note_arrival();
        if request.is_some_and(|page| page.cursor.is_some()) {
            let message = "the listing has one page, and no cursor was issued";
            return Err(ErrorData::invalid_params(message, None));
        }
        let tools = Tools::descriptions().into_iter().map(listed).collect();
        let mut result = ListToolsResult::with_all_items(tools);
        result.meta = result_meta(is_modern(&context));
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.tools.ledger.note_arrival();
        let name = request.name.clone();
        let call = freed_from_protocol(request, &context);
        let modern = call.continues;
        let tools = Arc::clone(&self.tools);
        // A task of its own: a panic in it is an answer to one request, not the silence of this one.
        let operation_id = call
            .arguments
            .get("operation_id")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let called = tokio::spawn(async move { tools.call(&name, &call).await });
        let called = if self.tools.settings.planted.is(Defect::CancelForgetsEffect) {
            let forget = || self.tools.ledger.forget(operation_id.unwrap_or_default());
            forgotten_when_cancelled(called, context.ct.cancelled(), forget).await
        } else {
            called.await
        };
        match called {
            Ok(Ok(answer)) => respond(&self.tools, answer, modern),
            Ok(Err(error)) => Err(protocol_error(error)),
            Err(_panicked) => Err(ErrorData::internal_error(
                "the tool failed unexpectedly; ask for the operation's status",
                None,
            )),
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.tools.ledger.note_arrival();
        refuse_old_era(&context, "tasks/get")?;
        tasks::get(&self.tools, request.task_id, result_meta(true)).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tools.ledger.note_arrival();
        refuse_old_era(&context, "tasks/update")?;
        tasks::update(&self.tools, request.task_id).await
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.tools.ledger.note_arrival();
        refuse_old_era(&context, "tasks/cancel")?;
        tasks::cancel(&self.tools, request.task_id).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if METHODS.contains(&request.method.as_str()) {
            let message = format!("the parameters of {} are malformed", request.method);
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }
}

/// `cancel-forgets-effect`: the task goes on, and what it did is forgotten.
async fn forgotten_when_cancelled<T>(
    mut task: JoinHandle<T>,
    cancelled: impl Future<Output = ()>,
    forget: impl FnOnce(),
) -> Result<T, JoinError> {
    tokio::select! {
        biased;
        () = cancelled => forget(),
        done = &mut task => return done,
    }
    task.await
}

fn server_info() -> Implementation {
    Implementation::new("reference-server", env!("CARGO_PKG_VERSION"))
}

/// Whether the request is of a revision with Multi Round-Trip Requests. Revisions are dates, which order as text.
fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// The SDK lets a client of any era ask for tasks that declared them; the revisions before 2026-07-28 have none.
fn refuse_old_era(context: &RequestContext<RoleServer>, method: &str) -> Result<(), ErrorData> {
    if is_modern(context) {
        return Ok(());
    }
    Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None))
}

fn freed_from_protocol(request: CallToolRequestParams, context: &RequestContext<RoleServer>) -> Call {
    let capabilities = context.client_capabilities();
    let modern = is_modern(context);
    let takes_tasks = modern && capabilities.as_ref().is_some_and(ClientCapabilities::supports_tasks);
    let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation);
    Call {
        arguments: request.arguments.unwrap_or_default(),
        input_responses: request.input_responses.map(|responses| responses.into_iter().collect()),
        request_state: request.request_state,
        continues: modern,
        // A capability without any mode means forms.
        shows_forms: elicitation.is_some_and(|modes| modes.form.is_some() || modes.url.is_none()),
        takes_tasks,
        meta: context.meta.0.0.clone(),
    }
}

/// Since 2026-07-28 there is no handshake, and each result should say who made it.
fn result_meta(modern: bool) -> Option<MetaObject> {
    let info = serde_json::to_value(server_info()).ok().filter(|_| modern)?;
    Some(MetaObject(Map::from_iter([(
        "io.modelcontextprotocol/serverInfo".to_owned(),
        info,
    )])))
}

fn respond(tools: &Tools, answer: Answer, modern: bool) -> Result<CallToolResponse, ErrorData> {
    match answer {
        Answer::Done(structured) => Ok(structured_result(structured, false, modern).into()),
        Answer::Refused(structured) => Ok(structured_result(structured, true, modern).into()),
        Answer::AskInput(input) => Ok(input_required(input, modern)?.into()),
        Answer::Task(snapshot) => Ok(CallToolResponse::Task(tasks::created(
            tools,
            &snapshot,
            result_meta(modern),
        ))),
    }
}

pub(crate) fn structured_result(structured: Value, is_error: bool, modern: bool) -> CallToolResult {
    let text = vec![ContentBlock::text(structured.to_string())];
    let mut result = if is_error {
        CallToolResult::error(text)
    } else {
        CallToolResult::success(text)
    };
    result.structured_content = Some(structured);
    result.meta = result_meta(modern);
    result
}

fn input_required(input: InputRequest, modern: bool) -> Result<InputRequiredResult, ErrorData> {
    let requested_schema = serde_json::from_value(input.schema)
        .map_err(|error| ErrorData::internal_error(format!("the form has no valid schema: {error}"), None))?;
    let form = ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: input.message,
        requested_schema,
    });
    let request = rmcp::model::InputRequest::Elicitation(form);
    let requests = InputRequests::from([(input.key.to_owned(), request)]);
    let mut result = InputRequiredResult::new(Some(requests), Some(input.request_state));
    result.meta = result_meta(modern);
    Ok(result)
}

fn protocol_error(error: CallError) -> ErrorData {
    match error {
        CallError::Invalid { message, reason } => {
            ErrorData::invalid_params(message, reason.map(|reason| json!({ "reason": reason })))
        }
        CallError::FormsNotDeclared => {
            let mut required = ClientCapabilities::default();
            required.elicitation = Some(ElicitationCapability::new().with_form(FormElicitationCapability::default()));
            ErrorData::missing_required_client_capability(required)
        }
        CallError::Internal(message) => ErrorData::internal_error(message, None),
    }
}

fn listed(description: Description) -> Tool {
    let annotations = ToolAnnotations::with_title(description.title)
        .read_only(description.read_only)
        .destructive(false)
        .idempotent(description.idempotent)
        .open_world(false);
    Tool::new(description.name, description.text, members(description.input_schema))
        .with_title(description.title)
        .with_raw_output_schema(Arc::new(members(description.output_schema)))
        .with_annotations(annotations)
}

fn members(schema: Value) -> Map<String, Value> {
    let Value::Object(members) = schema else {
        unreachable!("a tool's schema is an object, not {schema}")
    };
    members
}
